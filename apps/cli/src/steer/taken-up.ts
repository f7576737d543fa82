import { FlotillaError } from '@flotilla/api';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import type { Client } from '@flotilla/runtime';
import { followUpgrade, type UpgradeRef } from '../hub/upgrades.ts';

/** A hub reconciles within a second; a busy one within some. */
const TAKEN_UP_WITHIN_MS = 15_000;

/** Waits until the hub has made an upgrade so; false when the time is up. One that is deleted meanwhile waits for nothing any more. */
export async function untilTakenUp(client: Client, ref: UpgradeRef, isSo: (upgrade: ClusterGroupUpgrade) => boolean): Promise<boolean> {
  try {
    for await (const upgrade of followUpgrade(client, ref, AbortSignal.timeout(TAKEN_UP_WITHIN_MS))) if (isSo(upgrade)) return true;
    return false;
  } catch (error) {
    if (error instanceof FlotillaError && error.code === 'FLOTILLA_NO_UPGRADE') return true;
    throw error;
  }
}
