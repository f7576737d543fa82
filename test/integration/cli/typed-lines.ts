/** Command lines as they are typed on a terminal or into a pipe, and what all of them say. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { endCommand } from '@flotilla/control-plane/processes';
import { expect } from 'vitest';

const MANY = join(import.meta.dirname, 'many-commands.ts');
const ESCAPE = '\u001b';
const COLOURS = new RegExp(`${ESCAPE}\\[(\\d{1,2})m`, 'g');
/** Own colours, in the order in which they come: on, then off. */
const OWN_COLOURS = new RegExp(`${ESCAPE}\\[(?:2|31|32|33|0)m`, 'g');

/** Where lines are typed. */
interface Place {
  readonly kubeconfig: string;
  /** Working folder, which paths of lines are relative to. */
  readonly folder: string;
}

/** Terminal or pipe of a line, and its variables. */
interface Typing {
  /** Columns of a pty; default: a pipe. */
  readonly width?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Text of all lines together, each with its exit code. A line may begin with variables, as in `KUBECONFIG=a:b flotilla status`. */
export async function typeLines(place: Place, lines: readonly string[], { width, env: more = {} }: Typing = {}): Promise<string> {
  const file = join(place.folder, `lines-${width ?? 'pipe'}.json`);
  await writeFile(file, JSON.stringify(lines.map((line) => line.split(' ').filter((word) => word !== ''))));
  const env = {
    KUBECONFIG: place.kubeconfig,
    HOME: place.folder,
    INIT_CWD: place.folder,
    TZ: 'UTC',
    TERM: 'xterm',
    LC_ALL: 'C.UTF-8',
    ...more,
  };
  const node = [process.execPath, MANY, file];
  const quoted = node.map((word) => `'${word}'`).join(' ');
  const pty = ['script', '--quiet', '--return', '--command', `stty cols ${width} rows 50; exec ${quoted} </dev/null`, '/dev/null'];
  const [command = '', ...args] = width === undefined ? node : pty;
  const { code, stdout, stderr } = await endCommand(command, args, { env, cwd: place.folder, timeoutMs: 15 * 60_000 });
  const out = stdout + stderr;
  expect(code, out.slice(-2_000)).toBe(0);
  expectHarmless(out, width !== undefined);
  return out.replaceAll('\r\n', '\n');
}

/** Refuses every sign that moves a cursor, hides or reverses text, but for own colours on a terminal. */
function expectHarmless(text: string, isTerminal: boolean): void {
  const plain = isTerminal ? text.replaceAll('\r\n', '\n').replaceAll(OWN_COLOURS, '') : text;
  const strays = plain.match(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu) ?? [];
  expect(strays.map((sign) => sign.codePointAt(0)?.toString(16))).toEqual([]);
}

/** A text without what is not the same in each run; a replacement is as long where columns follow. */
export const steady = (text: string, { kubeconfig, folder }: Place): string =>
  text
    .replaceAll(/https:\/\/127\.0\.0\.1:\d+/g, '<server>')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, '<time>')
    .replaceAll(COLOURS, '<$1>')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\dZ/g, '<to the minute>')
    .replaceAll(/ends in ~ .* min$/gm, 'ends in ~ <forecast by the pace so far>')
    .replaceAll(kubeconfig, '<kubeconfig>')
    .replaceAll(folder, '<folder>');
