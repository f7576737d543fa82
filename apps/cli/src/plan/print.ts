import type { Figure, PlanAnswer } from '@flotilla/api/answers';
import { bytes, duration, figure } from '@flotilla/api/units';
import { type Screen, safeText } from '../terminal/output.ts';
import { table, wrap } from '../terminal/table.ts';

/** Batches that a page lists at most. */
const MOST_BATCHES = 10;

/** A plan, for a person. */
export function planPage(answer: PlanAnswer, { width }: Pick<Screen, 'width'>): string {
  const { images, pulls, notes, refused } = answer;
  const lines = [
    headOf(answer),
    ...(refused === undefined ? [] : [`REFUSED  ${refused}`]),
    ...(images ? imageLines(images) : []),
    ...(pulls.length > 0
      ? ['', pullTable(answer, width), `all together ${figure(answer.bytes, bytes)} from the registry`, ...pullLines(answer)]
      : []),
    ...(answer.batches.length > 0 ? ['', batchTable(answer.batches, width)] : []),
    ...(answer.changes.length > 0 ? [`changes, in order: ${answer.changes.join(', ')}`] : []),
    ...fitLines(answer),
    ...notes.map((note) => `? ${note}`),
  ];
  return lines.map((line) => (line.includes('\n') ? line : wrap(safeText(line), width, '  '))).join('\n');
}

function imageLines({ count, layers, bytes: size, platform, unread, unresolved }: NonNullable<PlanAnswer['images']>): string[] {
  const read = unread === 0 ? `images ${count}` : `${count} of ${count + unread} images could be read`;
  const more = unread - unresolved.length;
  return [
    `${read}, layers ${layers}, ${bytes(size)} for ${platform}`,
    ...unresolved.map(({ image, why }) => `! ${image} could not be read: ${why}`),
    ...(more > 0 ? [`! and ${more} more`] : []),
  ];
}

function headOf({ upgrade, batches, compliant }: PlanAnswer): string {
  const clusters = batches.flat().length;
  const parts = [
    `${clusters} ${clusters === 1 ? 'cluster' : 'clusters'} in ${batches.length} ${batches.length === 1 ? 'batch' : 'batches'}`,
    ...(compliant > 0 ? [`${compliant} with nothing to do`] : []),
  ];
  return `${upgrade}: ${parts.join(', ')}`;
}

function pullTable({ pulls }: PlanAnswer, width: number | undefined): string {
  const rows = pulls.map(({ clusters, example, architecture, runtime, says, images, bytes: pull, space, free, seconds, fits }) => [
    String(clusters),
    example,
    architecture ?? '?',
    runtime ?? '?',
    images ? `${figure(images.missing, String)} of ${images.of}` : '?',
    figure(pull, bytes),
    `${figure(space, bytes)} / ${free.value === undefined ? '?' : bytes(free.value)}${fits === false ? '  !' : ''}`,
    figure(seconds, duration),
    says,
  ]);
  const heading = ['CLUSTERS', 'LIKE', 'ARCH', 'RUNTIME', 'MISSING', 'PULL', 'SPACE NEEDED/FREE', 'TIME', 'KNOWN'];
  return table(heading, rows, { width, indent: '  ' });
}

/** Groups without the room, and pulls against the window. */
function pullLines({ pulls, precache }: PlanAnswer): string[] {
  const tight = pulls.filter(({ fits }) => fits === false);
  const lines = tight.map(
    ({ clusters, example, space, free }) =>
      `! ${example}${clusters > 1 ? ` and ${clusters - 1} like it` : ''}: ${neededFor(space)}, ${bytes(free.value ?? 0)} free below the threshold above which the kubelet removes images`,
  );
  if (!precache) return lines;
  const { seconds, inTime, late, unknown } = precache;
  return [...lines, `pre-cache in ${duration(seconds)}, before the window opens: ${inTime} in time, ${late} late, ${unknown} unknown`];
}

/** Room that is known to be too much, in words: with images that nobody could read, the rest alone does not fit. */
const neededFor = ({ value }: Figure): string =>
  value === undefined ? 'more needed for the images that could be read' : `${bytes(value)} needed`;

function batchTable(batches: PlanAnswer['batches'], width: number | undefined): string {
  const rows = batches.map((clusters, index) => [String(index + 1), String(clusters.length), clusters.join(', ')]);
  const shown =
    rows.length > MOST_BATCHES ? [...rows.slice(0, MOST_BATCHES - 1), ['…', '', `and ${rows.length - MOST_BATCHES + 1} more`]] : rows;
  return table(['BATCH', 'COUNT', 'CLUSTERS'], shown, { width, indent: '  ' });
}

function fitLines({ window, hours, rollout: { seconds, windowSeconds, fits }, batches }: PlanAnswer): string[] {
  if (batches.length === 0) return [];
  const word = fits === undefined ? '' : fits ? ': FITS' : ': DOES NOT FIT';
  const head = {
    none: 'no window: batches start at any time',
    open: windowSeconds === undefined ? 'window open' : `window open for ${duration(windowSeconds)} more`,
    closed: windowSeconds === undefined ? `window closed: ${window.says}` : `window of ${duration(windowSeconds)}: ${window.says}`,
    invalid: `window: ${window.says}`,
  }[window.state];
  const [first] = hours?.clusters ?? [];
  const others = hours && hours.count > 1 ? ` and ${hours.count - 1} more` : '';
  const outside =
    first === undefined ? [] : [`! ${first}${others}: no hour in this window (annotations flotilla.io/window-* of the ManagedCluster)`];
  return [`rollout ${figure(seconds, duration)}${why(seconds)}${word}`, head, ...outside];
}

const why = ({ certainty, why: reason }: Figure): string => (certainty === 'exact' || reason === undefined ? '' : ` (${reason})`);
