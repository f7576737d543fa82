/** An operator on a real API server, in this process, with a world in memory around it: for tests. */

import { findCondition, KubeObject, refKey } from '@flotilla/api';
import { configCrds } from '@flotilla/api/config';
import { CustomResourceDefinition, Namespace } from '@flotilla/api/core';
import { managedCrds, OPERATOR_NAMESPACE, UPGRADE_CONFIG_NAME, UpgradeConfig, type UpgradeHistory } from '@flotilla/api/managed';
import { machineCrds } from '@flotilla/api/testing';
import { MemoryServer } from '@flotilla/control-plane/memory';
import { eventually } from '@flotilla/pace/testing';
import { type Client, type Clock, systemClock } from '@flotilla/runtime';
import { z } from 'zod';
import { done, type Step } from '../src/steps/step.ts';
import { stepsOf } from '../src/upgraders.ts';
import type { MemoryWorld } from './memory-world.ts';

/** The UpgradeConfig of every case. */
export const CASE_REF = { namespace: OPERATOR_NAMESPACE, name: UPGRADE_CONFIG_NAME };

const Established = z.looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).default([]) });

/** An API server in memory that serves the kinds which an operator and a cluster have, with the operator's namespace. */
export const memoryCluster = (clock: Clock): MemoryServer =>
  new MemoryServer({ clock, crds: [...managedCrds(), ...configCrds(), ...machineCrds()], namespaces: [OPERATOR_NAMESPACE] });

/** Installs the kinds that an operator and a cluster have, and the operator's namespace. */
export async function installKinds(client: Client): Promise<void> {
  for (const crd of [...managedCrds(), ...configCrds(), ...machineCrds()]) {
    await client.apply(CustomResourceDefinition, KubeObject.parse(crd), { fieldManager: 'test', force: true });
    await eventually(async () => {
      const applied = await client.get(CustomResourceDefinition, { name: crd.metadata.name });
      return findCondition(Established.safeParse(applied?.status).data?.conditions, 'Established')?.status === 'True';
    }, `${crd.metadata.name} to be served`);
  }
  await client.create(Namespace, { metadata: { name: OPERATOR_NAMESPACE } });
}

/** An operator that runs. */
export interface RunningOperator {
  stop(): Promise<void>;
}

interface OperatorCaseOptions {
  readonly retrySeconds?: number;
  /** Dies in this step, after what it does and before that is known. `died` is called then. */
  readonly diesIn?: { readonly step: string; readonly died: () => void };
  readonly logLevel?: 'silent' | 'debug';
}

/** Starts an operator; it must be stopped before its client is closed. */
export function startOperator(client: Client, world: MemoryWorld, options: OperatorCaseOptions = {}): RunningOperator {
  const { retrySeconds = 1, diesIn, logLevel = 'silent' } = options;
  const stopping = new AbortController();
  const steps = diesIn ? (...of: Parameters<typeof stepsOf>) => stepsOf(...of).map((step) => mortal(step, diesIn, stopping)) : stepsOf;
  const argv = ['--retry-seconds', String(retrySeconds)];
  const ended = world.run({ client, clock: systemClock, argv, steps, logLevel }, stopping.signal);
  return {
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}

/** A process that dies writes nothing any more: the pass never gets beyond this step. */
function mortal(step: Step, { step: name, died }: NonNullable<OperatorCaseOptions['diesIn']>, stopping: AbortController): Step {
  if (step.name !== name) return step;
  return {
    ...step,
    async run(context) {
      if (!(step.endsWithCommencement && context.isCommenced)) await step.run(context);
      stopping.abort();
      died();
      return done;
    },
  };
}

/** Creates the UpgradeConfig; it is due unless `upgradeAt` says otherwise. */
export const createUpgrade = (client: Client, spec: Record<string, unknown> = {}): Promise<UpgradeConfig> =>
  client.create(UpgradeConfig, {
    metadata: CASE_REF,
    spec: {
      type: 'OSD',
      upgradeAt: new Date(Date.now() - 1_000).toISOString(),
      PDBForceDrainTimeout: 0,
      desired: { version: '4.14.12', channel: 'stable-4.14' },
      capacityReservation: false,
      ...spec,
    },
  });

/** The newest entry of the UpgradeConfig's history. */
export const readEntry = async (client: Client): Promise<UpgradeHistory | undefined> =>
  (await client.get(UpgradeConfig, CASE_REF))?.status?.history?.[0];

/** Its key for reconcilers. */
export const CASE_KEY = refKey(CASE_REF);
