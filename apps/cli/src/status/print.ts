import { endedWithoutEdits, type Figure, type StatusAnswer } from '@flotilla/api/answers';
import { age, bytes, duration, endFigure, figure } from '@flotilla/api/units';
import { type Screen, safeText, tinted } from '../terminal/output.ts';
import { cut, table, wrap } from '../terminal/table.ts';

type Look = Pick<Screen, 'width' | 'hasColor'>;

/** Beginning of each further line of a sentence. */
const HANG = '  ';

/** A row for each upgrade. */
export function statusTable(answers: readonly StatusAnswer[], { width }: Look): string {
  return table(
    ['UPGRADE', 'STAGE', 'BATCH', 'CACHED', 'DONE', 'FAILED', 'ENDS', 'WAITING FOR'],
    answers.map((answer) => {
      const { upgrade, stage, batch, edits, cached, clusters, ends, waits } = answer;
      const [first] = waits;
      return [
        upgrade,
        edits ? `${stage}, edits ${edits.state}` : stage,
        `${batch.current}/${batch.of}`,
        cached ? `${cached.done}/${cached.of}` : '-',
        `${clusters.done}/${clusters.total}`,
        String(clusters.failed),
        ends ? endFigure(ends.seconds) : '-',
        first ? `${first.says} (${first.clusters})` : '-',
      ];
    }),
    { width },
  );
}

/** One upgrade, for a person. */
export function statusPage(answer: StatusAnswer, look: Look, now: number): string {
  const { waits, failures, current, notes } = answer;
  const { width } = look;
  const lines = [
    ...headLines(answer, look, now),
    ...(answer.cached ? [cachedLine(answer.cached, width)] : []),
    clustersLine(answer.clusters, width),
    ...(waits.length > 0
      ? ['', table(['WAITING FOR', 'COUNT', 'EXAMPLE', 'SINCE'], waits.map(waitRow(now, width)), { width, indent: '  ' })]
      : []),
    ...(failures.length > 0 ? ['', table(['COUNT', 'EXAMPLE', 'FAILED'], failures.map(failureRow), { width, indent: '  ' })] : []),
    ...(current.length > 0
      ? ['', table(['CLUSTER', 'STATE', 'AT', 'ITS OWN UPGRADE'], current.map(currentRow), { width, indent: '  ' })]
      : []),
    ...notes.map((note) => wrap(`? ${safeText(note)}`, width, HANG)),
  ];
  return lines.join('\n');
}

const BAD: ReadonlySet<StatusAnswer['stage']> = new Set(['refused', 'partial', 'failed', 'timed-out']);

function headLines(answer: StatusAnswer, look: Look, now: number): string[] {
  const { upgrade, stage, says, edits, batch, paused, window, ends } = answer;
  const color = BAD.has(stage) || endedWithoutEdits(answer) ? 'bad' : stage === 'done' ? 'good' : 'faint';
  const parts = [
    batch.current > 0 ? `batch ${batch.current} of ${batch.of}` : batch.of > 0 ? `${batch.of} batches` : '',
    paused === undefined ? '' : `paused: ${safeText(paused)}`,
    windowText(window, now),
    ends ? endText(ends, now) : '',
  ].filter((part) => part !== '');
  const oldest = answer.oldest ? `   oldest ${age(answer.oldest.observedAt, now)} (${safeText(answer.oldest.cluster)})` : '';
  const [head = '', ...others] = [
    [safeText(upgrade), stage, ...parts].join('   '),
    safeText(says),
    ...(edits ? [`edits ${edits.state}: ${safeText(edits.says)}`] : []),
    `${hubText(answer.hub, now)}${oldest}`,
  ].map((line) => wrap(line, look.width, HANG));
  // The colour comes last, for it takes no cells.
  return [head.replace(stage, tinted(look, color, stage)), ...others];
}

function hubText({ state, holder = '', renewedAt, why = '' }: StatusAnswer['hub'], now: number): string {
  if (state === 'unseen') return `? whether a hub leads is not known: ${safeText(why)}`;
  if (state === 'silent') return `no hub leads: the Lease was renewed ${age(renewedAt, now)} ago, so nothing below is known to be so now`;
  return `${safeText(holder)} leads, seen ${age(renewedAt, now)} ago`;
}

function windowText({ state, closesAt, opensAt }: StatusAnswer['window'], now: number): string {
  if (state === 'none') return '';
  if (state === 'open')
    return closesAt === undefined ? 'window open' : `window closes in ${age(new Date(now).toISOString(), Date.parse(closesAt))}`;
  return opensAt === undefined ? `window ${state}` : `window opens in ${duration((Date.parse(opensAt) - now) / 1000)}`;
}

function endText({ seconds, latestAt, fitsWindow }: NonNullable<StatusAnswer['ends']>, now: number): string {
  const fits = fitsWindow === undefined ? '' : fitsWindow ? ', fits the window' : ', does not fit the window';
  const end = endFigure(seconds);
  if (seconds.certainty === 'at-most') return `${seconds.value === 0 ? '' : 'ends in '}${end} (${safeText(seconds.why ?? '')})${fits}`;
  const latest = latestAt === undefined ? '' : `, at the latest in ${duration((Date.parse(latestAt) - now) / 1000)}`;
  return `ends in ${end}${latest}${fits}`;
}

/** Cells of a bar. */
const BAR = 24;
const bar = (part: number, of: number): string => {
  const full = of > 0 ? Math.round((part / of) * BAR) : 0;
  return `${'█'.repeat(full)}${'░'.repeat(BAR - full)}`;
};

function cachedLine(
  { done, of, pulling, failed, bytesDone, bytesTotal, bytesPerSecond, secondsLeft }: NonNullable<StatusAnswer['cached']>,
  width: number | undefined,
): string {
  const parts = [
    `${done} of ${of}`,
    ...(pulling > 0 ? [`${pulling} pulling`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    `${figure(bytesDone, bytes)} of ${figure(bytesTotal, bytes)}`,
    ...(done + failed < of ? [rate(bytesPerSecond), `left ${figure(secondsLeft, duration)}`] : []),
  ];
  return wrap(`cached  ${isNarrow(width) ? '' : `${bar(done, of)}  `}${parts.join('   ')}`, width, HANG);
}

const rate = (perSecond: Figure): string => `${figure(perSecond, bytes)}/s`;

function clustersLine({ done, total, inBatch, failed, left }: StatusAnswer['clusters'], width: number | undefined): string {
  const parts = [
    `${done} of ${total}`,
    ...(inBatch > 0 ? [`${inBatch} in batch`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    `${left} to come`,
  ];
  return wrap(`done    ${isNarrow(width) ? '' : `${bar(done, total)}  `}${parts.join('   ')}`, width, HANG);
}

const isNarrow = (width: number | undefined): boolean => width !== undefined && width < 80;

/** Cells of a cause on a terminal, so that the other columns have room. */
const MOST_OF_CAUSE = 60;

const waitRow =
  (now: number, width: number | undefined) =>
  ({ says, clusters, example, since }: StatusAnswer['waits'][number]): string[] => [
    cut(says, width === undefined ? undefined : MOST_OF_CAUSE),
    String(clusters),
    example,
    since === undefined ? '-' : age(since, now),
  ];
const failureRow = ({ says, clusters, example }: StatusAnswer['failures'][number]): string[] => [String(clusters), example, says];
const currentRow = ({ name, state, at = '-', managed = [] }: StatusAnswer['current'][number]): string[] => [
  name,
  state,
  at,
  managed.join('; ') || '-',
];

/** One line for a pipe, the same while nothing has changed. */
export function statusLine({ upgrade, stage, batch, edits, paused, cached, clusters, waits }: StatusAnswer): string {
  const [first] = waits;
  const parts = [
    upgrade,
    `stage=${stage}`,
    `batch=${batch.current}/${batch.of}`,
    ...(cached ? [`cached=${cached.done}/${cached.of}`] : []),
    `done=${clusters.done}/${clusters.total}`,
    `failed=${clusters.failed}`,
    ...(edits ? [`edits=${edits.state}`] : []),
    ...(paused !== undefined ? [`paused=${JSON.stringify(paused)}`] : []),
    ...(first ? [`waiting=${JSON.stringify(first.says)}`] : []),
  ];
  return safeText(parts.join(' '));
}
