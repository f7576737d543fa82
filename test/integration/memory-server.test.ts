import { conformanceCrds, differences, recordedKinds, recordKinds } from '@flotilla/control-plane/memory/conformance';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { expect, test } from 'vitest';
import { eachAttempt } from './world.ts';

/** A real API server says what `npm run record:api-server` wrote down. */

let server: ApiServer;
eachAttempt(
  async () => {
    server = await startApiServer({ crds: conformanceCrds() });
  },
  () => server?.stop(),
);

test('a real API server answers every question as it was recorded', async () => {
  expect(await differences(await server.client())).toEqual([]);
});

test('and its built-in kinds have the recorded shape', async () => {
  const { server: _, ...recorded } = recordedKinds();
  const { server: __, ...found } = await recordKinds(await server.client());
  expect(found).toEqual(recorded);
});
