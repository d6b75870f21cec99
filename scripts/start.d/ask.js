/**
 * Sends a GET for scripts/start, which cannot rely on curl: `node scripts/start.d/ask.js URL`. For the Redfish service
 * root, it prints `rackless` if bmc-daemon answers, `other` if another program has the port, and nothing if the port is
 * free. For a Redfish collection, it prints the members' paths, one per line. For OpenAI's list of models, it prints
 * the line `models`, then a line with the name of each model. It prints `locked` if the server requires a key.
 */
import { get as getHttp } from 'node:http';
import { get as getHttps } from 'node:https';

const url = new URL(process.argv[2]);
const get = url.protocol === 'https:' ? getHttps : getHttp;

function describe(status, text) {
  try {
    const body = JSON.parse(text);
    if (status === 401 && typeof body.error?.message === 'string') return 'locked';
    if (Array.isArray(body.Members)) return body.Members.map((member) => member['@odata.id']).join('\n');
    if (body.object === 'list') return ['models', ...body.data.map((model) => model.id)].join('\n');
    return body.Vendor === 'Rackless' ? 'rackless' : 'other';
  } catch {
    return 'other';
  }
}

// Accepts any certificate, because the request contains no secret.
const request = get(url, { rejectUnauthorized: false }, (response) => {
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (part) => (text += part));
  response.on('end', () => console.log(describe(response.statusCode, text)));
});
request.setTimeout(5000, () => request.destroy(new Error('no answer')));
request.on('error', (error) => {
  if (error.code !== 'ECONNREFUSED') console.log('other');
});
