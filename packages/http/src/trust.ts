import { createSecureContext, type SecureContext } from 'node:tls';

/** Certificates of one side of a TLS connection, all PEM. */
export interface TlsMaterial {
  /** Trusted authorities; default Node's own. */
  readonly ca?: string | Buffer | readonly (string | Buffer)[] | undefined;
  /** Own certificate and its key. */
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
}

/**
 * Makes the TLS context of every client. As in Go, each certificate of `ca` is trusted by itself: a root, an issuing authority without its root, or
 * the server's own.
 */
export const tlsContext = ({ ca, cert, key }: TlsMaterial): SecureContext =>
  createSecureContext({ ca: typeof ca === 'object' && !Buffer.isBuffer(ca) ? [...ca] : ca, cert, key, allowPartialTrustChain: true });
