import { runProgram } from '@flotilla/runtime';
import { hubProgram } from './program.ts';

await runProgram(hubProgram());
