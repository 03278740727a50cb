// Stands in for @vscode/spdlog, which has no half that was compiled already: what it would write
// into log files goes nowhere, and nothing complains at each start.
'use strict';
class Logger {}
const methods = 'trace debug info warn error critical flush drop setLevel setPattern clearFormatters';
for (const name of methods.split(' ')) {
    Logger.prototype[name] = () => {};
}
Logger.prototype.getLevel = () => 6;
const made = () => new Logger();
exports.version = 0;
exports.setLevel = () => {};
exports.setFlushOn = () => {};
exports.shutdown = () => {};
exports.Logger = Logger;
exports.createRotatingLogger = async () => made();
exports.createAsyncRotatingLogger = async () => made();
