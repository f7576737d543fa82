import { z } from 'zod';
import { answering, namespace } from '../hub/options.ts';
import { flag, option, text } from '../option.ts';

/** Options of `status`. */
export const StatusOptions = z.object({
  ...namespace,
  allNamespaces: flag('upgrades of all namespaces', 'A'),
  selector: option('<selector>', text('give labels such as site=north'), 'upgrades with these labels', 'l'),
  watch: flag('go on until the upgrade ends: redraws on a terminal, a line per change in a pipe', 'w'),
  ...answering,
});
export type StatusOptions = z.output<typeof StatusOptions>;
