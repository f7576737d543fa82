import { HttpError, HttpErrorCode } from './errors.ts';

/** Bytes that arrive in chunks: a body, a file, a generator. */
type ByteSource = AsyncIterable<Uint8Array> & { destroy?(error: Error): unknown };

interface ReadOptions {
  /** Ends the source when it aborts. */
  readonly signal?: AbortSignal;
  /** Creates the error for a source with more bytes. Default: an `HttpError`. */
  readonly tooLarge?: () => Error;
}

/** Reads all bytes of a source, at most `maxBytes`; a longer one is ended and refused. */
export async function readBounded(source: ByteSource, maxBytes: number, { signal, tooLarge }: ReadOptions = {}): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const stop = (): void => void source.destroy?.(new Error('the call was ended'));
  signal?.addEventListener('abort', stop, { once: true });
  try {
    for await (const chunk of source) {
      size += chunk.length;
      // Leaving the loop destroys the source, so an endless one costs at most the bound.
      if (size > maxBytes) throw tooLarge?.() ?? new HttpError(HttpErrorCode.tooLarge, `more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } finally {
    signal?.removeEventListener('abort', stop);
  }
  return Buffer.concat(chunks, size);
}
