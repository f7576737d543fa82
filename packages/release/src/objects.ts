export { keepScale } from './builders/contracts.ts';
export { replaceFields } from './builders/generic.ts';
