import { findCondition } from '@flotilla/api';
import { CustomResourceDefinition } from '@flotilla/api/core';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { runCommand } from '@flotilla/control-plane/processes';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { eventually } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { REFERENCE_CRDS, readReferenceCrd } from '../fixtures/reference-resources.ts';

const UPGRADES = '/apis/ran.openshift.io/v1alpha1/namespaces/default/clustergroupupgrades';
const Status = z.looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).default([]) });

/** A hub whose CRDs came with the reference: ours are not installed there. */
describe('the CRDs that clusters have today', () => {
  let server: ApiServer;
  let client: Client;

  beforeAll(async () => {
    server = await startApiServer();
    client = await server.client();
    for (const name of REFERENCE_CRDS) await client.create(CustomResourceDefinition, await readReferenceCrd(name));
  });
  afterAll(() => server?.stop());

  test.each(REFERENCE_CRDS)('%s is established and structural', async (name) => {
    const conditions = await eventually(async () => {
      const crd = await client.get(CustomResourceDefinition, { name: `${name}.ran.openshift.io` });
      const found = Status.parse(crd?.status ?? {}).conditions;
      return findCondition(found, 'Established')?.status === 'True' && found;
    });
    expect(findCondition(conditions, 'NonStructuralSchema')).toBeUndefined();
  });

  it('stores free text for a state, and drops what is ours', async () => {
    const metadata = { name: 'state', namespace: 'default' };
    const { apiVersion, kind } = ClusterGroupUpgrade;
    const body = { apiVersion, kind, metadata, spec: { remediationStrategy: { maxConcurrency: 1 } } };
    expect(await client.request('POST', UPGRADES, { body })).toMatchObject({
      spec: { enable: true, preCaching: false, backup: false, remediationStrategy: { timeout: 240 } },
    });
    const status = {
      clusters: [{ name: 'a', state: 'anything' }],
      precaching: { status: { a: 'Active' }, messages: { a: 'ours' }, summary: { imagesDone: 1 } },
    };
    await client.request('PATCH', `${UPGRADES}/state/status`, { body: { status }, contentType: 'application/merge-patch+json' });
    const stored = await client.get(ClusterGroupUpgrade, metadata);
    expect(stored?.status).toEqual({
      status: {},
      clusters: [{ name: 'a', state: 'anything' }],
      precaching: { status: { a: 'Active' } },
    });
    const tools = await ensureTools(['kubectl']);
    const table = await runCommand(tools.path('kubectl'), ['--kubeconfig', server.kubeconfig, 'get', 'cgu']);
    expect(table.split('\n')[0]?.split(/\s+/).filter(Boolean)).toEqual(['NAME', 'AGE', 'STATE', 'DETAILS']);
  });
});
