import { exitCodesPage } from './exit-codes.ts';
import { keysPage } from './keys.ts';
import { kindPages, kindsIndex } from './kinds.ts';
import { metricsPage } from './metrics.ts';
import { optionsPage } from './options.ts';
import { reasonsPage } from './reasons-page.ts';
import { statesPage } from './states.ts';

/** A page of docs/reference. */
interface ReferencePage {
  readonly path: string;
  readonly render: () => string | Promise<string>;
}

/** Every page of docs/reference. */
export const referencePages: readonly ReferencePage[] = [
  { path: 'docs/reference/annotations.md', render: keysPage },
  { path: 'docs/reference/exit-codes.md', render: exitCodesPage },
  { path: 'docs/reference/kinds/README.md', render: kindsIndex },
  ...kindPages(),
  { path: 'docs/reference/metrics.md', render: metricsPage },
  { path: 'docs/reference/options.md', render: optionsPage },
  { path: 'docs/reference/reasons.md', render: reasonsPage },
  { path: 'docs/reference/states.md', render: statesPage },
];
