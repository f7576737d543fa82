import { checkOptions, versionLine } from '@flotilla/runtime';
import { connect } from '../hub/connect.ts';
import { AccessOptions } from '../hub/options.ts';
import type { Run } from '../run.ts';
import { writeOut } from '../terminal/output.ts';
import { runningPrograms } from './running.ts';

/** `flotilla version`: the version of this program, and of what runs in a cluster. */
export const showVersion: Run = async (_, given) => {
  const options = checkOptions(AccessOptions, given);
  const own = `${versionLine('flotilla')}\n`;
  if (options.kubeconfig === undefined && options.context === undefined) return writeOut(own);
  await using connected = connect(options);
  writeOut(`${own}${await runningPrograms(connected.client)}\n`);
};
