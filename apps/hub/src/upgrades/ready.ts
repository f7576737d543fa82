/** Conditions for tools that know nothing of upgrades: `Ready`, and `Stalled` while somebody has to act. Pure. */

import { type Condition, findCondition, withCondition } from '@flotilla/api';
import { ClusterGroupUpgradeCondition as Type } from '@flotilla/api/ran';

/** When and of which generation the reading is. */
interface Moment {
  readonly now: Date;
  readonly generation?: number | undefined;
}

/** Conditions that end an upgrade's way until somebody corrects what their message names. */
const REFUSALS: readonly string[] = [Type.clustersSelected, Type.validated, Type.precacheSpecValid];

/** Puts Ready and Stalled before all others, because the last condition is the state that users see. */
export function withReading(conditions: readonly Condition[], moment: Moment): Condition[] {
  const others = conditions.filter(({ type }) => type !== Type.ready && type !== Type.stalled);
  const last = others.at(-1);
  if (!last) return [];
  const verdict = findCondition(others, Type.succeeded);
  const refusal = REFUSALS.map((type) => findCondition(others, type)).find((condition) => condition?.status === 'False');
  const stopped = others.find(({ type, reason }) => type === Type.progressing && reason === 'UnexpectedCluster');
  const obstacle = verdict?.status === 'False' ? verdict : verdict ? undefined : (refusal ?? stopped);
  const isReady = verdict?.status === 'True';
  const said = verdict ?? obstacle ?? last;
  const ready = reading(conditions, { ...said, type: Type.ready, status: isReady ? 'True' : 'False' }, moment);
  const stalled = obstacle ? reading(conditions, { ...obstacle, type: Type.stalled, status: 'True' }, moment) : [];
  return [...ready, ...stalled, ...others];
}

/** The condition with the time at which its status last changed. */
function reading(before: readonly Condition[], { type, status, reason, message }: Condition, { now, generation }: Moment): Condition[] {
  const next = { type, status, reason, message, ...(generation !== undefined && { observedGeneration: generation }) };
  return withCondition(before, next, now.getTime()).filter((condition) => condition.type === type);
}
