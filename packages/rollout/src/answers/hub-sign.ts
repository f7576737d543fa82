/** Judges by its Lease whether a hub decides now. Pure. */
import type { HubSign } from '@flotilla/api/answers';
import type { Lease } from '@flotilla/api/core';
import type { Seen } from './facts.ts';

/** A Lease counts as old after so many of its durations. */
const DURATIONS = 2;
/** Duration of a Lease that states none. */
const DURATION_SECONDS = 15;

/** True for a Lease that nobody has renewed within twice its duration. */
export function isStale({ spec }: Lease, now: number): boolean {
  const renewed = Date.parse(spec?.renewTime ?? '');
  return !(now - renewed <= (spec?.leaseDurationSeconds || DURATION_SECONDS) * DURATIONS * 1000);
}

/** Judges the hub by its Lease; `silent` when nobody holds the Lease or it is stale. */
export function judgeHub(hub: Seen<Lease>, now: number): HubSign {
  if (hub.kind !== 'read') return { state: 'unseen', why: hub.kind === 'unread' ? hub.why : 'it was not looked at' };
  if (!hub.object)
    return { state: 'unseen', why: 'no Lease of a hub was found: see that its pods run, or name their namespace with --hub-namespace' };
  const { holderIdentity, renewTime } = hub.object.spec ?? {};
  const sign = { ...(holderIdentity && { holder: holderIdentity }), ...(renewTime && { renewedAt: renewTime }) };
  return { state: holderIdentity && !isStale(hub.object, now) ? 'leads' : 'silent', ...sign };
}
