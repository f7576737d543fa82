import { readFile } from 'node:fs/promises';
import { createServer as createPlainServer, type RequestListener, type Server } from 'node:http';
import { createServer, type Server as TlsServer } from 'node:https';

/** Files of a certificate and its key, in PEM. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** Certificates are renewed in place. */
const RENEWED_MS = 60_000;

/** A server that takes up a renewed certificate by itself; without files one without encryption. */
export async function tlsServer(files: TlsFiles | undefined): Promise<(handler: RequestListener) => Server | TlsServer> {
  if (!files) return (handler) => createPlainServer(handler);
  const read = async () => {
    const [cert, key] = await Promise.all([readFile(files.cert), readFile(files.key)]);
    return { cert, key };
  };
  let present = await read();
  return (handler) => {
    const server = createServer({ ...present, minVersion: 'TLSv1.2' }, handler);
    const renew = async (): Promise<void> => {
      try {
        const next = await read();
        if (next.cert.equals(present.cert) && next.key.equals(present.key)) return;
        server.setSecureContext(next);
        present = next;
      } catch {
        // A pair that is half written is read again in a minute.
      }
    };
    const renewing = setInterval(() => void renew(), RENEWED_MS);
    server.once('close', () => clearInterval(renewing));
    return server;
  };
}
