import { request } from 'node:https';

/**
 * True when a GET answers 200; false on refusal, another status or after 2 s. The body is not read.
 * @param certificateAuthority PEM to trust
 */
export function probeHttps(url: string, certificateAuthority: string, token: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = request(
      url,
      { ca: certificateAuthority, headers: { authorization: `Bearer ${token}` }, timeout: 2_000, agent: false },
      (response) => {
        response.destroy();
        resolve(response.statusCode === 200);
      },
    );
    probe.once('timeout', () => probe.destroy());
    probe.once('error', () => resolve(false));
    probe.end();
  });
}
