import { X509Certificate } from 'node:crypto';
// biome-ignore lint/style/noRestrictedImports: this is the one context
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

/** Certificates of one side of a TLS connection, all PEM. */
export interface TlsMaterial {
  /** Trusted authorities; default the system's. */
  readonly ca?: string | Buffer | undefined;
  /** Own certificate and its key. */
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
}

/**
 * Makes the TLS context of every client. As in Go, each certificate of `ca` is trusted by itself: a root, an issuing authority without its root, or
 * the server's own.
 * @param system whether the system's authorities are trusted besides `ca`
 * @throws Error for an own certificate or key that cannot be used
 */
export function tlsContext({ ca, cert, key }: TlsMaterial, system = false): SecureContext {
  const own = ca ? readCertificates(ca) : undefined;
  const trusted = own && system ? [...getCACertificates('default'), ...own] : own;
  return createSecureContext({ ca: trusted, cert, key, allowPartialTrustChain: true });
}

/** Lists the certificates of a PEM file. As in Go, one that cannot be read costs itself alone. */
export function readCertificates(pem: string | Buffer): string[] {
  const blocks = pem.toString('utf8').match(/-----BEGIN CERTIFICATE-----(?:(?!-----BEGIN )[\s\S])*?-----END CERTIFICATE-----/g) ?? [];
  return blocks.filter(isReadable);
}

function isReadable(certificate: string): boolean {
  try {
    return new X509Certificate(certificate).raw.length > 0;
  } catch {
    return false;
  }
}
