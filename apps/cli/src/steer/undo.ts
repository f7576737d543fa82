import type { Ref } from '@flotilla/api';
import { type ActionRequest, type ChangeAnswer, WindowParts } from '@flotilla/api/answers';

/** The parts of a window, in the order of their options. */
export const WINDOW_PARTS = WindowParts.keyof().options;

/** The action on the same object that takes a change back, or a command of another program. */
export type Undo =
  | (Pick<ActionRequest, 'action' | 'reason' | 'window'> & {
      /** A pause with `--now`, which the console does not offer; default false. */
      readonly stops?: boolean;
    })
  | { readonly command: string };

/** A text as one word of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The command that takes a change of an object back, and the request of the console where that brings back all. */
export function describeUndo(undo: Undo, { namespace, name }: Ref): Pick<ChangeAnswer, 'undo' | 'undoing'> {
  if ('command' in undo) return { undo: undo.command };
  const { stops = false, ...undoing } = undo;
  const { action, reason, window = {} } = undoing;
  const words = [
    'flotilla',
    action.replace('-', ' '),
    name,
    ...(namespace === undefined ? [] : [`-n ${namespace}`]),
    ...(stops ? ['--now'] : []),
    ...(reason === undefined ? [] : [`--reason ${quoted(reason)}`]),
    ...WINDOW_PARTS.flatMap((part) => (window[part] === undefined ? [] : [`--${part} ${quoted(window[part])}`])),
  ];
  return { undo: words.join(' '), ...(!stops && { undoing }) };
}
