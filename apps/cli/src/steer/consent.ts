import { createInterface } from 'node:readline/promises';
import { FlotillaError } from '@flotilla/api';
import type { ChangeAnswer } from '@flotilla/api/answers';
import { writeErr } from '../terminal/output.ts';
import { changeText } from './print.ts';

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
