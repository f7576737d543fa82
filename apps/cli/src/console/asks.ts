/** Questions of the page: each is asked as the command of the same name asks it. */
import { FlotillaError, refOfKey } from '@flotilla/api';
import type { EventsAnswer, SpokeAnswer, WhyAnswer, WindowParts } from '@flotilla/api/answers';
import { Event, Lease } from '@flotilla/api/core';
import { AGENT_LEASE } from '@flotilla/api/ocm';
import type { Client } from '@flotilla/runtime';
import { nextStep } from '../complain.ts';
import { askOne, FactStore } from '../hub/fact-store.ts';
import { readUpgrade, type UpgradeRef } from '../hub/upgrades.ts';
import { windowOf } from '../steer/window.ts';
import type { Fleet } from './rows/fleet.ts';
import type { Sources } from './rows/sources.ts';
import type { Part } from './rows/spoke-row.ts';
import { readReports } from './spoke-reports.ts';

/** Where answers come from. */
export interface AskDeps {
  readonly client: Client;
  readonly hubNamespace: string;
  readonly fleet: Fleet;
  readonly sources: Sources;
}

/** Events that an answer has at most. */
const MOST_EVENTS = 50;

/** The upgrade that a key names. @throws FlotillaError `FLOTILLA_CONFIG` for a key without a namespace */
export function upgradeRefOf(key: string): UpgradeRef {
  const { namespace, name } = refOfKey(key);
  if (namespace === undefined || name === '')
    throw new FlotillaError('FLOTILLA_CONFIG', `upgrade is ${JSON.stringify(key)}: give namespace/name`);
  return { namespace, name };
}

/** Why a cluster of an upgrade waits, or the upgrade as a whole. */
export async function askWhy({ client, hubNamespace }: AskDeps, key: string, cluster: string | undefined): Promise<WhyAnswer> {
  const upgrade = await readUpgrade(client, upgradeRefOf(key));
  return askOne(new FactStore({ client, hubNamespace }), upgrade, cluster);
}

/** The window of an upgrade, as its annotations have it. */
export const askWindow = async ({ client }: AskDeps, key: string): Promise<WindowParts> =>
  windowOf(await readUpgrade(client, upgradeRefOf(key)));

/** Events of an upgrade. */
export async function askEvents({ client }: AskDeps, key: string): Promise<EventsAnswer> {
  const { namespace, name } = upgradeRefOf(key);
  const { items } = await client.list(Event, { namespace, fieldSelector: `regarding.name=${name}` });
  const events = items
    .filter(({ regarding }) => regarding?.kind === 'ClusterGroupUpgrade')
    .map(({ eventTime, metadata, reason = '', note = '', type }) => ({
      at: eventTime ?? metadata.creationTimestamp ?? null,
      reason,
      note,
      isWarning: type === 'Warning',
    }));
  return { events: events.toSorted((a, b) => (b.at ?? '').localeCompare(a.at ?? '')).slice(0, MOST_EVENTS) };
}

/** One spoke: its parts, its pull, and when its agent said something last. */
export async function askSpoke(deps: AskDeps, name: string): Promise<SpokeAnswer> {
  const parts = deps.fleet.partsOf(name);
  return {
    name,
    ...(await lastSaid(deps.client, name)),
    ...(await readReports(deps.client, name)),
    parts: parts.map(({ upgrade: key, row: { state, batch, cached, cause, says } }) => ({
      upgrade: key,
      state,
      batch,
      cached,
      cause,
      says,
    })),
    images: imagesOf(deps, parts, name),
  };
}

async function lastSaid(client: Client, namespace: string): Promise<Pick<SpokeAnswer, 'saidAt' | 'saidWhy'>> {
  try {
    const lease = await client.get(Lease, { namespace, name: AGENT_LEASE });
    const saidAt = lease?.spec?.renewTime ?? null;
    return {
      saidAt,
      saidWhy: saidAt === null ? 'its agent has renewed no Lease yet: see its pods on the cluster, and what flotilla join said' : null,
    };
  } catch (error) {
    return { saidAt: null, saidWhy: nextStep(error) };
  }
}

/** The pull of the latest upgrade that has one. */
function imagesOf({ sources }: AskDeps, parts: readonly Part[], name: string): SpokeAnswer['images'] {
  for (const { upgrade: key } of parts) {
    const progress = sources.upgrades.get(refOfKey(key))?.status?.precaching?.progress?.[name];
    if (!progress) continue;
    const { imagesDone: done, imagesTotal: total, bytesDone, bytesTotal, bytesPerSecond, at = null } = progress;
    return { upgrade: key, done, total, bytesDone, bytesTotal, bytesPerSecond, at };
  }
  return null;
}
