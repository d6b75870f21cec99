/**
 * OpenAI's own client, pointed at the proxy: nothing but the address changes.
 *
 *   npm install openai
 *   node client.mjs http://127.0.0.1:4000/v1 sample
 */
import OpenAI from 'openai';

const [baseURL = 'http://127.0.0.1:4000/v1', model = 'sample'] = process.argv.slice(2);
// Any key will do where the proxy has none of its own (general_settings.master_key).
const client = new OpenAI({ baseURL, apiKey: process.env.PROXY_API_KEY ?? 'none' });

const messages = [{ role: 'user', content: 'Hello, is anybody there?' }];

const answer = await client.chat.completions.create({ model, messages });
console.log(`${answer.model}: ${answer.choices[0].message.content}`);

const stream = await client.chat.completions.create({ model, messages, stream: true });
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '');
process.stdout.write('\n');

const models = await client.models.list();
console.log(`models: ${models.data.map(({ id }) => id).join(', ')}`);
