export { replaceFields } from './builders/generic.ts';
