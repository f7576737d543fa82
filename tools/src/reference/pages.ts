import { exitCodesPage } from './exit-codes.ts';
import { kindPages, kindsIndex } from './kinds.ts';
import { metricsPage } from './metrics.ts';
import { optionsPage } from './options.ts';
import { statesPage } from './states.ts';

/** A page of docs/reference. */
interface ReferencePage {
  readonly path: string;
  readonly render: () => string | Promise<string>;
}

/** Every page of docs/reference that is generated; annotations and reasons are written by hand. */
export const referencePages: readonly ReferencePage[] = [
  { path: 'docs/reference/exit-codes.md', render: exitCodesPage },
  { path: 'docs/reference/kinds/README.md', render: kindsIndex },
  ...kindPages(),
  { path: 'docs/reference/metrics.md', render: metricsPage },
  { path: 'docs/reference/options.md', render: optionsPage },
  { path: 'docs/reference/states.md', render: statesPage },
];
