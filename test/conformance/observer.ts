import type { Client } from '@flotilla/runtime';
import type { SpokeObserver } from './transport-subject.ts';

/** A spoke with an API server of its own, seen by its administrator. */
export const observeServer = (client: Client): SpokeObserver => ({
  get: (kind, ref) => client.get(kind, ref),
  async create(kind, object) {
    await client.create(kind, object);
  },
  async patch(kind, ref, patch) {
    await client.patch(kind, ref, patch, { type: 'merge' });
  },
  async delete(kind, ref) {
    await client.delete(kind, ref);
  },
  async setStatus(kind, ref, status) {
    await client.patch(kind, ref, { status }, { type: 'merge', subresource: 'status' });
  },
});

/** ConfigMap creations an API server refused because they exist: from its own metrics. */
export async function countRefusedCreates(client: Client): Promise<number> {
  const text = await client.getText('/metrics');
  const lines = text
    .split('\n')
    .filter(
      (line) =>
        line.startsWith('apiserver_request_total{') &&
        /code="409"/.test(line) &&
        /resource="configmaps"/.test(line) &&
        /verb="POST"/.test(line),
    );
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
