import { createInterface } from 'node:readline/promises';
import { FlotillaError } from '@flotilla/api';
import { type ChangeAnswer, outcomeWords, type WindowAnswer } from '@flotilla/api/answers';
import { safeText, writeErr } from '../terminal/output.ts';
import { cut, wrap } from '../terminal/table.ts';

/** A change, for a person. @param width columns to fit into */
export function changeText(answer: ChangeAnswer, width?: number): string {
  const { object, outcome, annotations, clusters, says, undo } = answer;
  const touched =
    outcome === 'unchanged' || outcome === 'declined' ? '' : `, touching ${clusters} ${clusters === 1 ? 'cluster' : 'clusters'}`;
  const lines = [
    `${object} ${outcomeWords(answer)}${touched}`,
    ...annotations.map(({ key, before, after }) => `  ${key}: ${shown(before)} -> ${shown(after)}`),
    ...(outcome === 'declined' ? [] : says.map((sentence) => `  ${sentence}`)),
    ...(outcome === 'unanswered' ? ['  see what it says with flotilla status; a hub with --talm-strict takes none of it up'] : []),
    ...((outcome === 'changed' || outcome === 'created' || outcome === 'unanswered') && undo !== undefined ? [`  undo: ${undo}`] : []),
  ];
  return lines.map((line) => wrap(safeText(line), width, '    ')).join('\n');
}

/** Cells of a value that a person is shown; JSON has all of it. */
const MOST_SHOWN = 200;

const shown = (value: string | undefined): string => (value === undefined ? '(none)' : cut(JSON.stringify(value), MOST_SHOWN));

/** A window, for a person: times in the zone of whoever looks, and in UTC beside it. */
export function windowText({ upgrade, window: { state, opensAt, closesAt, says }, annotations }: WindowAnswer, width?: number): string {
  const head = {
    none: 'needs no window: batches start at any time',
    open: closesAt === undefined ? 'window is open' : `window is open until ${bothZones(closesAt)}`,
    closed: opensAt === undefined ? 'window is closed and does not open again' : `window opens at ${bothZones(opensAt)}`,
    invalid: 'window cannot be read',
  }[state];
  const lines = [
    `${upgrade}: ${head}`,
    ...(says === undefined ? [] : [`  ${says}`]),
    ...Object.entries(annotations).map(([key, value]) => `  ${key}: ${value}`),
  ];
  return lines.map((line) => wrap(safeText(line), width, '    ')).join('\n');
}

function bothZones(time: string): string {
  const local = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short' }).format(new Date(time));
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const utc = time.replace(/:00(?:\.000)?Z$/, 'Z');
  return zone === 'UTC' ? utc : `${local} ${zone} (${utc})`;
}

/**
 * Asks on the terminal, beside standard output, which is for results. Anything but y or yes is no.
 * @throws FlotillaError `FLOTILLA_CONFIG` where nobody can be asked
 */
export async function consent(answer: ChangeAnswer): Promise<boolean> {
  const { stdin: input, stderr: output } = process;
  if (!input.isTTY || !output.isTTY)
    throw new FlotillaError('FLOTILLA_CONFIG', '--yes is missing: nobody can be asked here; give it, or look first with --dry-run');
  writeErr(`${changeText({ ...answer, outcome: 'dry-run' }, output.columns)}\n`);
  const terminal = createInterface({ input, output });
  const gone = new AbortController();
  terminal.once('close', () => gone.abort());
  try {
    const said = await terminal.question('Continue? [y/N] ', { signal: gone.signal });
    return /^y(?:es)?$/i.test(said.trim());
  } catch (error) {
    // Ctrl-C and the end of input are a no.
    if (gone.signal.aborted) return false;
    throw error;
  } finally {
    terminal.close();
  }
}
