/** Writes a body to a socket while it arrives. */
import type { Socket } from 'node:net';
import type { BodyStream } from '../body-stream.js';

/** The connection that writes. */
interface UploadOwner {
  /** Returns whether the connection still sends this body. */
  isCurrent(): boolean;
  /** The socket has accepted a part of the body. */
  onWritten(): void;
  /** The socket has accepted the whole body. */
  onEnd(): void;
  /** The body broke off, or its length is wrong. */
  onError(error: Error): void;
}

/** Writes a head, then the body: plain if the head announces its length, otherwise in chunks. */
export function writeUpload(socket: Socket, head: string, upload: BodyStream, owner: UploadOwner): void {
  const { byteLength } = upload;
  let written = 0;
  socket.write(head, 'latin1');
  upload.on('data', (piece: Buffer) => {
    // An empty chunk would end the body.
    if (!owner.isCurrent() || piece.length === 0) return;
    written += piece.length;
    // The upstream would read surplus bytes as another request.
    if (byteLength !== null && written > byteLength) {
      owner.onError(wrongLength(written, byteLength));
      return;
    }
    const hasRoom = byteLength === null ? writeChunk(socket, piece) : socket.write(piece);
    owner.onWritten();
    if (hasRoom) return;
    upload.pause();
    socket.once('drain', () => upload.resume());
  });
  upload.on('end', () => {
    if (!owner.isCurrent()) return;
    if (byteLength !== null && written !== byteLength) {
      owner.onError(wrongLength(written, byteLength));
      return;
    }
    if (byteLength === null) socket.write('0\r\n\r\n', 'latin1');
    owner.onEnd();
  });
  upload.on('close', () => {
    if (owner.isCurrent()) owner.onError(new Error('the body broke off'));
  });
}

/** Writes a chunk (RFC 9112 §7.1). @returns whether the socket has room. */
function writeChunk(socket: Socket, piece: Buffer): boolean {
  socket.cork();
  socket.write(`${piece.length.toString(16)}\r\n`, 'latin1');
  socket.write(piece);
  const hasRoom = socket.write('\r\n', 'latin1');
  socket.uncork();
  return hasRoom;
}

const wrongLength = (written: number, announced: number) =>
  new Error(`a body of ${written} bytes, announced as ${announced}`);
