import type { MemberRow, UpgradeRow } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { spokePath, useFilters } from '../address.ts';
import { rankOfSpoke, STATES } from '../fleet/matter.ts';
import { Steer } from '../steer/steer.tsx';
import type { Column } from '../table/grid.tsx';
import { Choose, Find, List } from '../table/list.tsx';
import { causeColumn, nameColumn } from '../table/spoke-columns.tsx';
import { absolute } from '../words/age.tsx';
import { CacheMark, hasNoImages, SpokeMark, spokeWord } from '../words/marks.tsx';
import { useWorld } from '../world-context.ts';

interface MembersProps {
  readonly members: readonly MemberRow[];
  readonly upgrade: UpgradeRow;
}

const mayRetry = ({ state, cached }: MemberRow): boolean => state === 'failed' || hasNoImages(cached);

/** Spokes of an upgrade that the filters leave. */
export function Members({ members, upgrade: { key: of, writtenAt } }: MembersProps): JSX.Element {
  const { query, href } = useFilters();
  const lack = useWorld().rights.value?.steerUpgrades ?? null;
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const failed = useMemo(() => new Set(members.filter(mayRetry).map(({ key }) => key)), [members]);
  const chosen = picked.intersection(failed);
  const narrowed = (['batch', 'cause', 'says'] as const).filter((name) => query[name] !== undefined);
  return (
    <List
      title="Spokes"
      id="members"
      all={members}
      file={`spokes of ${of.replace('/', ' ')}`}
      label="Spokes of this upgrade"
      columns={columnsOf(href, writtenAt)}
      isWanted={isWanted}
      rank={rankOfSpoke}
      pathOf={spokePath}
      none={['No spoke is planned.', 'No spoke passes the filters.']}
      offers={
        <Steer
          offers={chosen.size > 0 ? [{ action: 'retry', of, lack, clusters: [...chosen], label: `Retry ${chosen.size} chosen` }] : []}
        />
      }
      filters={
        <>
          <Find says="Find by name or cause" placeholder="Name, cause" by="q" />
          <Choose title="State" by="state" of={STATES.flatMap((state) => (state === 'none' ? [] : [[state, spokeWord(state)] as const]))} />
          {narrowed.length > 0 && (
            <a class="button" href={href({ batch: undefined, cause: undefined, says: undefined })}>
              Without {query.batch === undefined ? 'the cause' : `batch ${query.batch}`}
            </a>
          )}
        </>
      }
      choice={
        failed.size === 0
          ? undefined
          : {
              chosen,
              mayChoose: (key) => failed.has(key),
              onChoose: (key) => setPicked(picked.symmetricDifference(new Set([key]))),
            }
      }
    />
  );
}

function isWanted(row: MemberRow, { q = '', state, batch, cause, says }: Readonly<Record<string, string>>): boolean {
  if (state !== undefined && row.state !== state) return false;
  if (batch !== undefined && String(row.batch) !== batch) return false;
  if (cause !== undefined && row.cause !== cause) return false;
  if (says !== undefined && row.says !== says) return false;
  const sought = q.toLowerCase();
  return sought === '' || [row.key, row.says].some((text) => text?.toLowerCase().includes(sought));
}

function columnsOf(href: (changes: Readonly<Record<string, string>>) => string, writtenAt: string | null): Column<MemberRow>[] {
  const asOf = (): string | undefined => (writtenAt === null ? undefined : `as the hub wrote it: ${absolute(writtenAt)}`);
  return [
    nameColumn,
    { name: 'state', title: 'State', value: ({ state }) => spokeWord(state), cell: ({ state }) => <SpokeMark state={state} />, asOf },
    causeColumn(href, asOf),
    { name: 'batch', title: 'Batch', value: ({ batch }) => batch, cell: ({ batch }) => batch ?? '–', asOf },
    { name: 'cached', title: 'Pre-cache', value: ({ cached }) => cached, cell: ({ cached }) => <CacheMark cached={cached} />, asOf },
  ];
}
