import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { countServed, readAccessLog } from './access-log.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const line = (method: string, uri: string, written: number) =>
  JSON.stringify({
    msg: 'response completed',
    'http.request.method': method,
    'http.request.uri': uri,
    'http.response.status': 200,
    'http.response.written': written,
    'http.request.remoteaddr': '10.79.3.2:4711',
  });

test('adds up GET answers by digest and skips what is no finished request', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-log-'));
  try {
    const file = join(folder, 'log');
    const lines = [
      '{"msg":"listening on 127.0.0.1:1"}',
      'not json {',
      line('GET', `/v2/a/blobs/${digest}`, 5),
      line('GET', `/v2/a/blobs/${digest}?ns=x`, 7),
      line('HEAD', `/v2/a/blobs/${digest}`, 100),
      line('GET', '/v2/', 2),
    ];
    await writeFile(file, `${lines.join('\n')}\n`);
    const served = countServed(await readAccessLog(file));
    expect(served.requests.map(({ to }) => to)).toEqual(Array(4).fill('10.79.3.2'));
    expect(served.bytes).toBe(14);
    expect([...served.byDigest]).toEqual([[digest, 12]]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
