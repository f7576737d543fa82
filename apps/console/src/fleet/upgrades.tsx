import type { UpgradeRow } from '@flotilla/api/answers';
import { endFigure } from '@flotilla/api/units';
import type { JSX } from 'preact';
import { upgradePath, whyPath } from '../address.ts';
import type { Column } from '../table/grid.tsx';
import { Choose, Find, List } from '../table/list.tsx';
import { Age } from '../words/age.tsx';
import { Bar } from '../words/bar.tsx';
import { EditsMark, HeldMark, StageMark, stageWord } from '../words/marks.tsx';
import { safeText } from '../words/safe-text.ts';
import { useWorld } from '../world-context.ts';
import { GROUPS, type Group, groupOf, rankOfUpgrade } from './matter.ts';

/** Upgrades that the filters leave, those with failures first. */
export function Upgrades(): JSX.Element {
  const world = useWorld();
  const { upgrades, rights, isFilled } = world;
  const all = upgrades.values();
  const none = isFilled.value
    ? 'No ClusterGroupUpgrade is there. Apply one with kubectl or from Git: it appears here by itself.'
    : 'Opening…';
  return (
    <List
      title="Upgrades"
      id="upgrades"
      all={all}
      isKnown={world.knows('upgrades')}
      columns={columns}
      isWanted={isWanted}
      rank={rankOfUpgrade}
      pathOf={upgradePath}
      none={[rights.value?.upgrades ?? none, 'No upgrade passes the filters.']}
      sortedBy="order"
      filters={
        all.length > 0 && (
          <>
            <Find says="Find upgrades by name or cause" placeholder="Name, cause" by="find" />
            <Choose title="Stage" by="stage" of={GROUPS.map((group) => [group, groupWords[group]] as const)} />
          </>
        )
      }
    />
  );
}

const groupWords: Readonly<Record<Group, string>> = {
  failed: 'with failures',
  waiting: 'waiting',
  running: 'going on',
  ended: 'ended well',
};

function isWanted(row: UpgradeRow, { find = '', stage }: Readonly<Record<string, string>>): boolean {
  if (stage !== undefined && groupOf(row) !== stage) return false;
  const sought = find.toLowerCase();
  return [row.key, row.says, causeOf(row)?.says].some((text) => text?.toLowerCase().includes(sought));
}

/** The cause for which most spokes of an upgrade have failed, or else wait. */
const causeOf = ({ failures: [failure], waits: [wait] }: UpgradeRow) => failure ?? wait;

const columns: readonly Column<UpgradeRow>[] = [
  {
    name: 'name',
    title: 'Upgrade',
    value: ({ key }) => key,
    cell: ({ key }, isActive) => (
      <a href={upgradePath(key)} tabIndex={isActive ? 0 : -1} title={key}>
        {key}
      </a>
    ),
  },
  {
    name: 'stage',
    title: 'Stage',
    value: ({ stage }) => stageWord(stage),
    cell: ({ stage, edits, paused }) => (
      <>
        <StageMark stage={stage} />
        {edits && (
          <>
            {' '}
            <EditsMark edits={edits} />
          </>
        )}
        {paused !== null && (
          <>
            {' '}
            <HeldMark word="paused" />
          </>
        )}
      </>
    ),
  },
  {
    name: 'cause',
    title: 'Cause',
    value: (row) => causeOf(row)?.says ?? null,
    cell: (row, isActive) => {
      const cause = causeOf(row);
      if (!cause) return '–';
      const says = `${safeText(cause.says)} (${cause.clusters})`;
      return (
        <a href={whyPath(row.key)} tabIndex={isActive ? 0 : -1} title={says} aria-label={`Why ${row.key}: ${says}`}>
          {says}
        </a>
      );
    },
  },
  {
    name: 'failed',
    title: 'Failed',
    value: ({ clusters }) => clusters.failed,
    cell: ({ key, clusters: { failed } }, isActive) =>
      failed > 0 ? (
        <a href={`${upgradePath(key)}?state=failed`} tabIndex={isActive ? 0 : -1}>
          {failed}
        </a>
      ) : (
        0
      ),
  },
  { name: 'window', title: 'Window', value: ({ window }) => window.state, cell: ({ window }) => <WindowText {...window} /> },
  {
    name: 'cached',
    title: 'Cached',
    value: ({ cached }) => cached?.done ?? null,
    cell: ({ cached }) => (cached ? <Bar label="cached" done={cached.done} failed={cached.failed} of={cached.of} /> : '–'),
  },
  {
    name: 'done',
    title: 'Done',
    value: ({ clusters }) => clusters.done,
    cell: ({ clusters }) => <Bar label="done" done={clusters.done} failed={clusters.failed} of={clusters.total} />,
  },
  { name: 'batch', title: 'In batch', value: ({ clusters }) => clusters.inBatch, cell: ({ clusters }) => clusters.inBatch },
  {
    name: 'ends',
    title: 'Ends in',
    value: ({ ends }) => (ends ? endFigure(ends.seconds) : null),
    order: ({ ends }) => ends?.seconds.value ?? null,
    cell: ({ ends }) => (
      <>
        {ends ? endFigure(ends.seconds) : '–'}
        {ends?.fitsWindow === false && <strong> does not fit</strong>}
      </>
    ),
  },
  { name: 'written', title: 'Written', value: ({ writtenAt }) => writtenAt, cell: ({ writtenAt }) => <Age at={writtenAt} /> },
];

/** Time for which a window stays open or closed. */
export function WindowText({ state, closesAt, opensAt, says }: UpgradeRow['window']): JSX.Element {
  if (state === 'none') return <>any time</>;
  if (state === 'invalid') return <span class="problem">{safeText(says ?? 'cannot be read')}</span>;
  const at = state === 'open' ? closesAt : opensAt;
  if (at === undefined) return <>{state === 'open' ? 'open' : 'closed for good'}</>;
  return (
    <>
      {state === 'open' ? 'open, closes ' : 'opens '}
      <Age at={at} form="in" />
    </>
  );
}
