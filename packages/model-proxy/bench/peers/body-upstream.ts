/**
 * An upstream that reads a whole body of any size, and then answers. `node body-upstream.js PORT
 * ANSWER_FILE`
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [port, answerFile = ''] = process.argv.slice(2);
const answer = readFileSync(answerFile);

createServer({ highWaterMark: 1_048_576 }, (request, response) => {
  request.resume();
  request.on('end', () => {
    response.writeHead(200, ['content-type', 'application/json', 'content-length', String(answer.length)]);
    response.end(answer);
  });
}).listen(Number(port), '127.0.0.1');
