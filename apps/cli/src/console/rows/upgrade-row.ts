import { refKey } from '@flotilla/api';
import type { MemberRow, SpokeState, UpgradeRow } from '@flotilla/api/answers';
import { cutInMiddle } from '@flotilla/api/ran';
import { answerStatus, Inquiry, type UpgradeFacts } from '@flotilla/rollout';

/** An upgrade as a row, by the answer that `flotilla status` gives, with as much of its texts as a table shows. */
export function upgradeRow(facts: UpgradeFacts, writtenAt: string | undefined): UpgradeRow {
  const { stage, says, batch, edits, paused, window, clusters, waits, failures, cached, ends } = answerStatus(facts);
  const { upgrade } = facts;
  return {
    key: refKey(upgrade.metadata),
    stage,
    says: cutInMiddle(says),
    batch,
    window,
    clusters,
    waits,
    failures,
    cached: cached ?? null,
    ends: ends ?? null,
    batches: (upgrade.status?.remediationPlan ?? []).map(({ length }) => length),
    edits: edits ? { ...edits, says: cutInMiddle(edits.says) } : null,
    paused: paused ?? null,
    writtenAt: writtenAt ?? null,
  };
}

/**
 * The part of each member, by the decisions of `flotilla why`, without what is read for a single one.
 * @param before rows of the last time: one that says the same stays the same object
 */
export function memberRows(facts: UpgradeFacts, before?: ReadonlyMap<string, MemberRow>): Map<string, MemberRow> {
  const { status } = facts.upgrade;
  const inquiry = new Inquiry(facts);
  const places = new Map((status?.remediationPlan ?? []).flatMap((batch, at) => batch.map((cluster) => [cluster, at + 1])));
  const current = status?.status.currentBatch ?? 0;
  const progress = status?.status.currentBatchRemediationProgress ?? {};
  const rows = new Map<string, MemberRow>();
  for (const key of inquiry.members.all) {
    const { cause, own } = inquiry.cluster(key);
    const batch = places.get(key) ?? null;
    const isUnderWay = (current > 0 && batch === current) || Object.hasOwn(progress, key);
    const state: SpokeState = own.cause === 'done' || own.cause === 'failed' ? own.cause : isUnderWay ? 'in-batch' : 'waiting';
    const isDone = cause === 'done';
    const row = {
      key,
      state,
      batch,
      cached: status?.precaching?.status?.[key] ?? null,
      cause: isDone ? null : own.cause,
      says: isDone ? null : cutInMiddle(own.says),
    };
    const known = before?.get(key);
    rows.set(key, known && isSame(known, row) ? known : row);
  }
  return rows;
}

const isSame = (a: MemberRow, b: MemberRow): boolean =>
  a.state === b.state && a.batch === b.batch && a.cached === b.cached && a.cause === b.cause && a.says === b.says;
