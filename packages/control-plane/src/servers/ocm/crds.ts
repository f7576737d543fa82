import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { KubeObject } from '@flotilla/api';
import { CustomResourceDefinition } from '@flotilla/api/core';
import { ManagedClusterAction, ManagedClusterView, transportCrds } from '@flotilla/api/ocm';
import type { Client } from '@flotilla/runtime';
import { runCommand } from '../../processes/command.ts';
import type { Log } from '../../toolchain/go-build.ts';
import { ensureTools } from '../../toolchain/tools.ts';
import { OCM_TOOLS } from './components.ts';

/** Kinds that components want on a spoke; everything else is the hub's. */
const ON_SPOKES = ['appliedmanifestworks', 'configurationpolicies', 'policies'];
const ON_HUB_TOO = ['policies'];
/** The hub's foundation is no Go module one could build, so these CRDs come from our own schemas. */
const FOUNDATION = [ManagedClusterAction, ManagedClusterView].map(({ plural }) => plural);

/** Access to an API server that gets CRDs. */
interface CrdTarget {
  readonly kubeconfig: string;
  readonly client: Client;
}

/** Installs what the components need on the hub or on a spoke, from the modules they are built of, and waits until it is served. */
export async function installOcmCrds(target: CrdTarget, where: 'hub' | 'spoke', log?: Log): Promise<void> {
  const tools = await ensureTools(['kubectl', ...OCM_TOOLS], log && { log });
  const files: string[] = [];
  for (const folder of new Set(OCM_TOOLS.map((name) => tools.crds(name))))
    for (const file of await readdir(folder)) if (belongs(file, where)) files.push('-f', join(folder, file));
  const kubectl = (...args: string[]) =>
    runCommand(tools.path('kubectl'), ['--kubeconfig', target.kubeconfig, ...args, ...files], { timeoutMs: 120_000 });
  // Server-side: what is applied otherwise is kept in an annotation, for which some of them are too long.
  await kubectl('apply', '--server-side', '--force-conflicts');
  if (where === 'hub') await installFoundation(target.client);
  await kubectl('wait', '--for=condition=Established', '--timeout=60s');
}

function belongs(file: string, where: 'hub' | 'spoke'): boolean {
  const isOneOf = (plurals: readonly string[]) => plurals.some((plural) => file.includes(`_${plural}.`));
  return where === 'spoke' ? isOneOf(ON_SPOKES) : !isOneOf(ON_SPOKES) || isOneOf(ON_HUB_TOO);
}

async function installFoundation(client: Client): Promise<void> {
  for (const crd of transportCrds())
    if (FOUNDATION.some((plural) => crd.metadata.name.startsWith(`${plural}.`)))
      await client.apply(CustomResourceDefinition, KubeObject.parse(crd), { fieldManager: 'ocm', force: true });
}
