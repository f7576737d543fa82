import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer, type Server } from 'node:https';
import { TLSSocket } from 'node:tls';

/** Has metrics served over TLS, and to one client alone, who shows a certificate. */
export interface ProtectedMetrics {
  /** PEM; read again when it changes. */
  readonly certFile: string;
  readonly keyFile: string;
  /** PEM of the authorities that the client's certificate is from, as they are now; undefined while they are not known. */
  readonly clientAuthorities: () => string | undefined;
  /** Common name of the client. */
  readonly client: string;
}

interface Refusal {
  readonly code: 401 | 403 | 500;
  readonly text: string;
}

/** A server whose certificate and authorities are those of the moment of each connection. Throws when the files cannot be read. */
export function createProtectedServer(protection: ProtectedMetrics, limits: { requestTimeout: number; headersTimeout: number }): Server {
  const material = () => ({
    cert: readFileSync(protection.certFile),
    key: readFileSync(protection.keyFile),
    ca: protection.clientAuthorities() ?? [],
  });
  // whoever shows none is told so, which a refused handshake would not
  const server = createServer({ ...limits, ...material(), requestCert: true, rejectUnauthorized: false, minVersion: 'TLSv1.2' });
  server.prependListener('connection', () => {
    try {
      server.setSecureContext(material());
    } catch {
      // files that are just being replaced: those from before count
    }
  });
  return server;
}

/** Whether a request may read; undefined when it may. The words are those that whoever scrapes the reference operator knows. */
export function refusalOf({ socket }: IncomingMessage, { client, clientAuthorities }: ProtectedMetrics): Refusal | undefined {
  if (clientAuthorities() === undefined) return { code: 500, text: 'the authorities of client certificates are not known' };
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  if (!(socket instanceof TLSSocket) || !certificate) return { code: 401, text: 'client certificate required' };
  if (!socket.authorized) return { code: 401, text: 'client certificate not trusted' };
  const { subject } = certificate.toLegacyObject();
  const name = [subject.CN ?? ''].flat().join(',');
  return name === client ? undefined : { code: 403, text: `unauthorized common name: ${name}` };
}
