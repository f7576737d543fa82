import { setTimeout as delay } from 'node:timers/promises';
import { findCondition, KubeObject } from '@flotilla/api';
import { CustomResourceDefinition } from '@flotilla/api/core';
import type { Client } from '@flotilla/runtime';
import { z } from 'zod';
import { ServerStartError } from '../../errors.ts';

const Status = z.looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).nullish() }).optional();

const ESTABLISHED_MS = 30_000;
const LOOK_MS = 50;

/** Applies CRDs, all at once, and waits until the server serves them. */
export async function applyCrds(client: Client, crds: readonly unknown[]): Promise<void> {
  await Promise.all(crds.map((crd) => applyCrd(client, KubeObject.parse(crd))));
}

async function applyCrd(client: Client, crd: KubeObject): Promise<void> {
  const { name } = crd.metadata;
  let { status } = await client.apply(CustomResourceDefinition, crd, { fieldManager: 'test', force: true });
  const end = performance.now() + ESTABLISHED_MS;
  while (findCondition(Status.parse(status)?.conditions ?? [], 'Established')?.status !== 'True') {
    if (performance.now() > end) throw new ServerStartError(`CRD ${name} is not established after ${ESTABLISHED_MS / 1000} s`);
    await delay(LOOK_MS);
    status = (await client.get(CustomResourceDefinition, { name }))?.status;
  }
}
