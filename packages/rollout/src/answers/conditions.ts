import type { Condition } from '@flotilla/api';
import { fixOf, type Reason, reasons } from '@flotilla/api/ran';
import type { UpgradeFacts } from './facts.ts';
import { upgradeEvidence } from './finding.ts';

/** A condition of the upgrade as evidence. */
export const conditionEvidence = (facts: UpgradeFacts, condition: Condition | undefined, type: string) =>
  upgradeEvidence(facts, `status.conditions[${type}]`, `${condition?.status ?? ''} ${condition?.reason ?? ''}`.trim());

/** The fix of the reason of a condition. */
export function fixFor({ reason }: Condition): string {
  const fix = isReason(reason) ? fixOf(reason) : '';
  return fix === '' || fix.includes('{') ? 'Do as the message says.' : `${fix.charAt(0).toUpperCase()}${fix.slice(1)}.`;
}

const isReason = (text: string): text is Reason => Object.hasOwn(reasons, text);
