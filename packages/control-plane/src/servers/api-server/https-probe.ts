import { request } from 'node:https';

/**
 * Whether a GET answers 200. `certificateAuthority` is the PEM to trust. False on refusal, another status or after
 * 2 s; the body is not read.
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
