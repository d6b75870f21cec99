/**
 * Uses the proxy with OpenAI's own client. Only the address (and the key) differ from a program for OpenAI.
 *
 *   npm install openai
 *   node client.mjs http://127.0.0.1:4000/v1 sample
 */
import OpenAI from 'openai';

const [baseURL = 'http://127.0.0.1:4000/v1', model = 'sample'] = process.argv.slice(2);
// Without general_settings.master_key, the proxy accepts any key.
const client = new OpenAI({ baseURL, apiKey: process.env.PROXY_API_KEY ?? 'none' });

const messages = [{ role: 'user', content: 'Hello, is anybody there?' }];

const answer = await client.chat.completions.create({ model, messages });
console.log(`${answer.model}: ${answer.choices[0].message.content}`);

const stream = await client.chat.completions.create({ model, messages, stream: true });
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '');
process.stdout.write('\n');

const models = await client.models.list();
console.log(`models: ${models.data.map(({ id }) => id).join(', ')}`);
