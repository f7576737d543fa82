import { decisionMutants } from './decision-mutants.ts';
import { hubMutants } from './hub-mutants.ts';
import type { Mutant } from './mutant.ts';
import { operatorMutants } from './operator-mutants.ts';
import { runtimeMutants } from './runtime-mutants.ts';

/** Each is one class of fault that reports, a simulation or a test has found at some time. */
export const mutants: readonly Mutant[] = [...decisionMutants, ...hubMutants, ...runtimeMutants, ...operatorMutants];
