import { findCondition } from '@flotilla/api';
import { CustomResourceDefinition, Namespace, ServiceAccount } from '@flotilla/api/core';
import { AGENT_ACCOUNT, HUB_ACCEPTED, ManagedCluster, ManifestWork, WORK_FINALIZER } from '@flotilla/api/ocm';
import { eventually } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type ChartHub, startChartHub } from '../chart-hub.ts';

// What a spoke filled to the store's limit with an earlier version, whose schemas had no bounds: the hub has to make room.
const PROMPT_MS = 10_000;
const merge = { type: 'merge' } as const;
const Crd = z.looseObject({
  spec: z.looseObject({
    versions: z.tuple([
      z.looseObject({ schema: z.looseObject({ openAPIV3Schema: z.looseObject({ properties: z.looseObject({ status: z.unknown() }) }) }) }),
    ]),
  }),
});

let world: ChartHub;
let admin: Client;

/** Gives a kind a status without bounds; returns what gives it its own again. */
async function withoutBounds(name: string): Promise<() => Promise<unknown>> {
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`;
  const { spec } = Crd.parse(await admin.get(CustomResourceDefinition, { name }));
  const [version] = spec.versions;
  const { schema } = version;
  const { openAPIV3Schema: own } = schema;
  const loose = { ...own, properties: { ...own.properties, status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } } };
  const put = (openAPIV3Schema: unknown) =>
    admin.request('PATCH', path, {
      body: { spec: { versions: [{ ...version, schema: { ...schema, openAPIV3Schema } }] } },
      contentType: 'application/merge-patch+json',
    });
  await put(loose);
  return () => put(own);
}

/** Bytes that may be left free: less than what an administrator's denial takes. */
const FREE = 64;

/** Grows what is written until the store takes hardly a byte more. */
async function fill(write: (length: number) => Promise<unknown>): Promise<void> {
  let length = 1_000_000;
  for (let step = 524_288; step >= FREE; step /= 2) {
    const refusal = await write(length + step).then(
      () => undefined,
      (error: unknown) => String(error),
    );
    if (refusal === undefined) length += step;
    else expect(refusal).toContain('request is too large');
  }
}

const status = { type: 'merge', subresource: 'status' } as const;
const condition = (type: string, message: string) => ({
  type,
  status: 'True',
  reason: 'Hostile',
  message,
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const many = Array.from({ length: 1_000 }, (_, index) => condition(`T${index}`, ''));
const filled: Readonly<Record<string, (name: string) => Promise<void>>> = {
  claims: (name) =>
    fill((length) =>
      admin.patch(ManagedCluster, { name }, { status: { clusterClaims: [{ name: 'c', value: 'v'.repeat(length) }] } }, status),
    ),
  'one condition': (name) =>
    fill((length) => admin.patch(ManagedCluster, { name }, { status: { conditions: [condition('One', 'x'.repeat(length))] } }, status)),
  'many conditions': (name) =>
    fill((length) => {
      const conditions = [...many, condition('Last', 'x'.repeat(Math.max(0, length - 200_000)))];
      return admin.patch(ManagedCluster, { name }, { status: { conditions } }, status);
    }),
};
const clusterOf = (how: string) => `by-${how.replace(' ', '-')}`;

beforeAll(async () => {
  world = await startChartHub({ values: ['standalone=true'] });
  admin = await world.server.client();
  const names = ['managedclusters.cluster.open-cluster-management.io', 'manifestworks.work.open-cluster-management.io'];
  const restore = [];
  for (const name of names) restore.push(await withoutBounds(name));
  for (const how of Object.keys(filled)) {
    const name = clusterOf(how);
    await admin.create(ManagedCluster, { metadata: { name }, spec: { hubAcceptsClient: true } });
    // The server takes a moment to go by the schema.
    await eventually(() => admin.patch(ManagedCluster, { name }, { status: { conditions: [], any: 'x' } }, status));
    await filled[how]?.(name);
  }
  await admin.create(Namespace, { metadata: { name: clusterOf('claims') } });
  const work = { namespace: clusterOf('claims'), name: 'work' };
  await admin.create(ManifestWork, { metadata: { ...work, finalizers: [WORK_FINALIZER] }, spec: { workload: { manifests: [] } } });
  await fill((length) => admin.patch(ManifestWork, work, { status: { any: 'x'.repeat(length) } }, status));
  for (const each of restore) await each();
});
afterAll(() => world?.[Symbol.asyncDispose]());

/** An administrator says why. */
const annotations = { 'example.com/denied': 'because '.repeat(50) };
const deny = (name: string) =>
  admin.patch(ManagedCluster, { name }, { metadata: { annotations }, spec: { hubAcceptsClient: false } }, merge);

test('a cluster that was filled before there were bounds is denied all the same, and what it filled goes', {
  timeout: 120_000,
}, async () => {
  const hows = Object.keys(filled);
  for (const how of hows) await expect(deny(clusterOf(how)), how).rejects.toThrow(/request is too large|is invalid/);
  const work = { namespace: clusterOf('claims'), name: 'work' };
  await world.startHub(['--standalone']);
  for (const how of hows) {
    const name = clusterOf(how);
    const account = { namespace: name, name: AGENT_ACCOUNT };
    await eventually(async () => (await admin.get(ServiceAccount, account)) !== undefined, `${name} to be let in`, PROMPT_MS);
    await eventually(() => deny(name), `${name} to be denied`, PROMPT_MS);
    await eventually(
      async () => {
        const cluster = await admin.get(ManagedCluster, { name });
        const isTold = findCondition(cluster?.status?.conditions, HUB_ACCEPTED)?.reason === 'HubClusterAdminDenied';
        return isTold && (await admin.get(ServiceAccount, account)) === undefined;
      },
      `the account of ${name} to go`,
      PROMPT_MS,
    );
    const whole = await admin.getText(`/apis/cluster.open-cluster-management.io/v1/managedclusters/${name}`);
    expect(whole.length, how).toBeLessThan(10_000);
  }
  expect(await admin.get(ManifestWork, work)).toBeUndefined();
});
