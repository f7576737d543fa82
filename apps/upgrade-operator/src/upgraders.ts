import type { UpgradeType } from '@flotilla/api/managed';
import { stepNames } from '@flotilla/upgrade';
import type { OperatorConfig } from './operator-config/schema.ts';
import { after } from './steps/after.ts';
import { before } from './steps/before.ts';
import { during } from './steps/during.ts';
import type { Step, StepCode } from './steps/step.ts';

const steps: StepCode = { ...before, ...during, ...after };

/** The steps of an upgrade, in order. */
export const stepsOf = (type: UpgradeType, { cacheProof }: Pick<OperatorConfig, 'cacheProof'>): readonly Step[] =>
  stepNames(type, cacheProof.required).map((name) => ({ name, ...steps[name] }));
