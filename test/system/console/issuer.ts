/** An OpenID Connect issuer that lets in whoever comes, as the person of the moment. */
import { createHash, createPrivateKey, createPublicKey, randomBytes, sign } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { runCommand } from '@flotilla/control-plane/processes';

/** Files of a certificate that is its own authority. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Makes a certificate for this machine. */
export async function makeCertificate(folder: string): Promise<Certificate> {
  const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  const names = 'subjectAltName=DNS:localhost,DNS:console.test,IP:127.0.0.1';
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=console.test'];
  await runCommand('openssl', [...args, '-addext', names, '-keyout', key, '-out', cert]);
  return { cert, key };
}

/** The issuer, as long as it runs. */
export interface Issuer extends AsyncDisposable {
  readonly url: string;
  /** From now on whoever comes is this person. */
  become(person: string): void;
}

const CLIENT = 'console';

/** Starts it. Its tokens are signed with the key of its certificate. */
export async function startIssuer({ cert, key }: Certificate): Promise<Issuer> {
  const [certPem, keyPem] = await Promise.all([readFile(cert), readFile(key)]);
  const privateKey = createPrivateKey(keyPem);
  const jwk = { ...createPublicKey(keyPem).export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'RS256' };
  let person = 'nobody';
  let url = '';
  const codes = new Map<string, { readonly person: string; readonly nonce: string | undefined }>();
  const tokenOf = (claims: object): string => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const text = `${part({ alg: 'RS256', kid: 'one', typ: 'JWT' })}.${part(claims)}`;
    return `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`;
  };
  const say = (response: ServerResponse, value: object): void => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(value));
  };
  const authorize = (asked: URLSearchParams, response: ServerResponse): void => {
    const code = randomBytes(8).toString('hex');
    codes.set(code, { person, nonce: asked.get('nonce') ?? undefined });
    const back = new URL(asked.get('redirect_uri') ?? '');
    back.search = new URLSearchParams({ code, state: asked.get('state') ?? '' }).toString();
    response.writeHead(302, { location: back.href }).end();
  };
  const exchange = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = '';
    for await (const part of request.setEncoding('utf8')) body += part;
    const known = codes.get(new URLSearchParams(body).get('code') ?? '');
    if (!known) return void response.writeHead(400).end();
    const now = Math.floor(Date.now() / 1000);
    const access = createHash('sha256').update(known.person).digest('hex');
    const claims = {
      iss: url,
      aud: CLIENT,
      sub: known.person,
      email: `${known.person}@example.com`,
      email_verified: true,
      iat: now,
      exp: now + 600,
    };
    say(response, { access_token: access, token_type: 'Bearer', expires_in: 600, id_token: tokenOf({ ...claims, nonce: known.nonce }) });
  };
  const server = createServer({ cert: certPem, key: keyPem }, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', url);
    if (pathname === '/.well-known/openid-configuration')
      return say(response, {
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/keys`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
      });
    if (pathname === '/keys') return say(response, { keys: [jwk] });
    if (pathname === '/authorize') return authorize(searchParams, response);
    if (pathname === '/token') return void exchange(request, response);
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('the issuer listens nowhere');
  url = `https://127.0.0.1:${address.port}`;
  return {
    url,
    become(next) {
      person = next;
    },
    [Symbol.asyncDispose]: () => {
      server.closeAllConnections();
      return new Promise((resolve) => void server.close(() => resolve()));
    },
  };
}
