import type { SpokeRow } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { spokePath, upgradePath, useFilters } from '../address.ts';
import type { Column } from '../table/grid.tsx';
import { Choose, Find, List } from '../table/list.tsx';
import { compareVersions } from '../table/order.ts';
import { causeColumn, nameColumn } from '../table/spoke-columns.tsx';
import { Age, absolute } from '../words/age.tsx';
import { CacheMark, HeldMark, SpokeMark, spokeWord, YesMark } from '../words/marks.tsx';
import { safeText } from '../words/safe-text.ts';
import { useWorld } from '../world-context.ts';
import { rankOfSpoke, STATES } from './matter.ts';

/** All spokes that the filters leave, with the way to their causes. */
export function Spokes(): JSX.Element {
  const { spokes, upgrades, rights, isFilled } = useWorld();
  const { href } = useFilters();
  const columns = columnsOf(href, (upgrade) => upgrades.get(upgrade)?.writtenAt);
  const none = rights.value?.spokes ?? (isFilled.value ? 'No spokes are known.' : 'Opening…');
  return (
    <List
      title="Spokes"
      id="spokes"
      all={spokes.values()}
      isKnown={isFilled.value}
      columns={columns}
      isWanted={isWanted}
      rank={rankOfSpoke}
      pathOf={spokePath}
      none={[none, 'No spoke passes the filters.']}
      filters={
        <>
          <Find says="Find by name, version or cause" placeholder="Name, version, cause" by="q" />
          <Choose title="State" by="state" of={[...STATES.map((state) => [state, spokeWord(state)] as const), ['held', 'held']]} />
          <Choose title="Available" by="available" of={AVAILABLE} />
        </>
      }
    />
  );
}

const AVAILABLE = [
  ['yes', 'yes'],
  ['no', 'no'],
  ['unknown', 'unknown'],
  ['missing', 'no or unknown'],
] as const;

function isWanted(row: SpokeRow, { q = '', state, available }: Readonly<Record<string, string>>): boolean {
  if (state !== undefined && (state === 'held' ? row.hold === null : row.state !== state)) return false;
  if (available !== undefined && (available === 'missing' ? row.available === 'yes' : row.available !== available)) return false;
  const sought = q.toLowerCase();
  return sought === '' || [row.key, row.version, row.upgrade, row.says, row.hold].some((text) => text?.toLowerCase().includes(sought));
}

type Href = (changes: Readonly<Record<string, string>>) => string;

/** @param writtenAt when a hub wrote the status of an upgrade: what it says of a spoke is as old as that */
function columnsOf(href: Href, writtenAt: (upgrade: string) => string | null | undefined): Column<SpokeRow>[] {
  const asOf = ({ upgrade }: SpokeRow): string | undefined => {
    const at = upgrade === null ? undefined : writtenAt(upgrade);
    return at == null ? undefined : `as the hub wrote it: ${absolute(at)}`;
  };
  return [
    nameColumn,
    {
      name: 'state',
      title: 'State',
      value: ({ state, hold }) => (hold === null ? spokeWord(state) : `held, ${spokeWord(state)}`),
      cell: ({ state, hold }) => (hold === null ? <SpokeMark state={state} /> : <HeldMark word={`held, ${spokeWord(state)}`} />),
      asOf,
    },
    causeColumn(href, asOf),
    {
      name: 'version',
      title: 'Version',
      value: ({ version }) => version,
      compare: (a, b) => compareVersions(String(a), String(b)),
      cell: ({ version }) => safeText(version ?? '–'),
    },
    {
      name: 'available',
      title: 'Available',
      value: ({ available }) => available,
      cell: ({ available, availableSince }) => (
        <>
          <YesMark is={available} />
          {available !== 'yes' && availableSince !== null && (
            <>
              {' '}
              <Age at={availableSince} />
            </>
          )}
        </>
      ),
    },
    {
      name: 'upgrade',
      title: 'Upgrade',
      value: ({ upgrade }) => upgrade,
      cell: ({ upgrade }, isActive) =>
        upgrade === null ? (
          '–'
        ) : (
          <a href={upgradePath(upgrade)} tabIndex={isActive ? 0 : -1} title={upgrade}>
            {upgrade}
          </a>
        ),
    },
    { name: 'batch', title: 'Batch', value: ({ batch }) => batch, cell: ({ batch }) => batch ?? '–', asOf },
    { name: 'cached', title: 'Pre-cache', value: ({ cached }) => cached, cell: ({ cached }) => <CacheMark cached={cached} />, asOf },
  ];
}
