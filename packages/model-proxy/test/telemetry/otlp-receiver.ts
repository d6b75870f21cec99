/**
 * A receiver of OTLP over HTTP, which decodes spans and histograms from protobuf.
 * @see https://github.com/open-telemetry/opentelemetry-proto
 */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { listen } from '../support/app.js';

/** A span. Ids are in hexadecimal. */
export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string;
  /** 2: server, 3: client. */
  readonly kind: number;
  readonly startMs: number;
  readonly endMs: number;
  /** 2: error. */
  readonly status: number;
  readonly attributes: Attributes;
}

/** A point of a histogram. */
export interface ReceivedPoint {
  readonly name: string;
  readonly count: number;
  readonly sum: number;
  readonly attributes: Attributes;
}

type Attributes = Readonly<Record<string, unknown>>;

/** A running receiver. */
export interface OtlpReceiver {
  /** `http://127.0.0.1:12345` */
  readonly url: string;
  readonly requests: { readonly url: string; readonly headers: IncomingHttpHeaders; readonly body: Buffer }[];
  readonly resource: Attributes;
  readonly spans: readonly ReceivedSpan[];
  readonly points: readonly ReceivedPoint[];
  close(): Promise<void>;
}

/** Starts a receiver. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const requests: { url: string; headers: IncomingHttpHeaders; body: Buffer }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      requests.push({ url: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) });
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  const port = await listen(server);
  const bodiesOf = (path: string) => requests.filter(({ url }) => url.endsWith(path)).map(({ body }) => body);
  const resources = (path: string) => bodiesOf(path).flatMap((body) => messages(body, 1));
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    get resource() {
      const [first] = resources('/v1/traces').flatMap((one) => messages(one, 1));
      return first === undefined ? {} : attributesOf(first, 1);
    },
    get spans() {
      const scopes = resources('/v1/traces').flatMap((one) => messages(one, 2));
      return scopes.flatMap((scope) => messages(scope, 2)).map(spanOf);
    },
    get points() {
      const scopes = resources('/v1/metrics').flatMap((one) => messages(one, 2));
      return scopes.flatMap((scope) => messages(scope, 2)).flatMap(pointsOf);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Reads the fields of a message: number → values. Varints are numbers, all others buffers. */
function fieldsOf(message: Buffer): Map<number, (number | Buffer)[]> {
  const fields = new Map<number, (number | Buffer)[]>();
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = message[at++] ?? 0;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    const kind = tag & 7;
    let value: number | Buffer;
    if (kind === 0) value = varint();
    else {
      const length = kind === 1 ? 8 : kind === 5 ? 4 : varint();
      value = message.subarray(at, at + length);
      at += length;
    }
    const number = Math.floor(tag / 8);
    fields.set(number, [...(fields.get(number) ?? []), value]);
  }
  return fields;
}

const messages = (message: Buffer, field: number): Buffer[] =>
  (fieldsOf(message).get(field) ?? []).filter((value) => typeof value !== 'number');
const bytesOf = (message: Buffer, field: number) => messages(message, field)[0] ?? Buffer.alloc(0);
const textOf = (message: Buffer, field: number) => bytesOf(message, field).toString();
const numberOf = (message: Buffer, field: number) => Number(fieldsOf(message).get(field)?.[0] ?? 0);
const fixedOf = (message: Buffer, field: number) => Number(bytesOf(message, field).readBigUInt64LE());

function attributesOf(message: Buffer, field: number): Attributes {
  return Object.fromEntries(messages(message, field).map((pair) => [textOf(pair, 1), valueOf(bytesOf(pair, 2))]));
}

function valueOf(any: Buffer): unknown {
  const fields = fieldsOf(any);
  const [text, whole, double] = [fields.get(1)?.[0], fields.get(3)?.[0], fields.get(4)?.[0]];
  if (Buffer.isBuffer(text)) return text.toString();
  return Buffer.isBuffer(double) ? double.readDoubleLE() : whole;
}

function spanOf(span: Buffer): ReceivedSpan {
  return {
    traceId: bytesOf(span, 1).toString('hex'),
    spanId: bytesOf(span, 2).toString('hex'),
    parentId: bytesOf(span, 4).toString('hex'),
    name: textOf(span, 5),
    kind: numberOf(span, 6),
    startMs: fixedOf(span, 7) / 1e6,
    endMs: fixedOf(span, 8) / 1e6,
    attributes: attributesOf(span, 9),
    status: numberOf(bytesOf(span, 15), 3),
  };
}

function pointsOf(metric: Buffer): ReceivedPoint[] {
  return messages(bytesOf(metric, 9), 1).map((point) => ({
    name: textOf(metric, 1),
    count: fixedOf(point, 4),
    sum: bytesOf(point, 5).readDoubleLE(),
    attributes: attributesOf(point, 9),
  }));
}
