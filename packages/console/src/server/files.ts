/**
 * Serves the built files of a web console from memory. Both daemons use these functions, so the headers and the
 * security policy of both consoles are the same.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

/** The consoles of this package: of bmc-daemon, and of model-proxy (the gateway). */
type ConsoleName = 'bmc' | 'gateway';

/** The parts of a request that decide the answer. */
interface ConsoleRequest {
  /** Path without the query, at or below `/ui`, such as `/ui/systems/1`. */
  readonly path: string;
  readonly acceptEncoding?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
}

/** An answer. A HEAD request gets the same headers without the body. */
interface ConsoleAnswer {
  readonly status: 200 | 304 | 308;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Returns the answer to a request; null if there is no such file. */
type ConsoleFiles = (request: ConsoleRequest) => ConsoleAnswer | null;

/** The page has no inline script or style and loads nothing from other hosts. 'self' includes WebSockets. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Headers of every answer. */
const SECURITY = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
};

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};

/** Precompressed variants, best first: the coding and the ending of the file. */
const CODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

/** Matches a file name with a hash of the content. The name of the file with the licenses has no hash. */
const HASHED = /-[A-Z0-9]{8}\.[a-z]+$/;

const assets = join(import.meta.dirname, '../../dist/assets');

/**
 * Reads the files of a console.
 * @throws {Error} if the package is not built.
 */
export function openConsole(name: ConsoleName): ConsoleFiles {
  const folder = join(assets, name);
  const files = new Map(readdirSync(folder).map((file) => [file, readFileSync(join(folder, file))]));
  const tags = new Map(Array.from(files, ([file, body]) => [file, tagOf(body)]));

  return ({ path, acceptEncoding = '', ifNoneMatch }) => {
    if (path === '/ui') return { status: 308, headers: { Location: '/ui/', ...SECURITY }, body: Buffer.alloc(0) };
    const rest = path.slice('/ui/'.length);
    const isAsset = rest.startsWith('assets/');
    // The page's own router handles all paths without a dot, so they all get the page.
    const file = isAsset ? rest.slice('assets/'.length) : rest.includes('.') ? '' : 'index.html';
    const type = TYPES[extname(file)];
    if (type === undefined || !files.has(file)) return null;
    const [coding, ending] =
      CODINGS.find((each) => accepts(acceptEncoding, each[0]) && files.has(file + each[1])) ?? [];
    const body = files.get(file + (ending ?? ''));
    const tag = tags.get(file + (ending ?? ''));
    if (body === undefined || tag === undefined) return null;
    const headers = {
      'Content-Type': type,
      'Cache-Control': isAsset && HASHED.test(file) ? 'public, max-age=31536000, immutable' : 'no-cache',
      Vary: 'Accept-Encoding',
      ETag: tag,
      ...SECURITY,
      ...(coding === undefined ? {} : { 'Content-Encoding': coding }),
    };
    if (isListed(ifNoneMatch, tag)) return { status: 304, headers, body: Buffer.alloc(0) };
    return { status: 200, headers, body };
  };
}

function tagOf(body: Buffer): string {
  return `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
}

/** Returns whether an Accept-Encoding header names a coding without `q=0` (RFC 9110 §12.5.3). */
function accepts(header: string, coding: string): boolean {
  return header.split(',').some((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return name === coding && !parameters.some((text) => /^q=0(\.0*)?$/.test(text));
  });
}

/** Returns whether an If-None-Match header lists an ETag. The comparison is weak (RFC 9110 §13.1.2). */
function isListed(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((each) => each.trim() === '*' || each.trim().replace(/^W\//, '') === tag);
}
