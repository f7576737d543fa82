export { embedProgram } from './embed-program.ts';
export { startScriptedServer } from './scripted-server.ts';
