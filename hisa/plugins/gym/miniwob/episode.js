
// Added to the pages' own core.js. It asks the stage for the seed, begins one episode without a
// time limit, reports its start and its reward, and keeps a connection open while the page lives.
(function () {
  if (window.top !== window) return;

  function tell(what, body) {
    // Synchronous, so that the stage has the reward before the agent sees the end.
    var request = new XMLHttpRequest();
    request.open('POST', '/stage/' + what, false);
    request.send(JSON.stringify(body || {}));
    return request.responseText;
  }

  var told = JSON.parse(tell('load'));
  Math.seedrandom(told.seed);
  if (!told.first) return;

  var ready = false;
  fetch('/stage/line');
  window.addEventListener('pagehide', function () { navigator.sendBeacon('/stage/left', '{}'); });
  window.addEventListener('error', function (event) {
    if (!ready) tell('broken', {message: String(event.message)});
  });

  // The reward so far, the clock and the marks of clicks are for people who try the pages. The clock
  // would also keep the screen from ever settling.
  var style = document.createElement('style');
  style.textContent = '#reward-display, #click-canvas, #reward-reason { visibility: hidden; }';
  document.head.appendChild(style);

  window.addEventListener('load', function begin() {
    if (!core.cover_div) { setTimeout(begin, 50); return; }
    core.EPISODE_MAX_TIME = 1000000000;
    var end = core.endEpisode;
    core.endEpisode = function (reward, proportional, reason) {
      if (core.EP_TIMER === null) return;
      tell('done', {reward: Number(reward) || 0, reason: String(reason || '')});
      end(reward, false, reason);
      core.cover_div.textContent = 'Episode over';
      core.cover_div.onclick = null;
    };
    Math.seedrandom(told.seed);
    core.startEpisodeReal();
    announce();
  });

  function announce() {
    if (!WOB_TASK_READY) { setTimeout(announce, 50); return; }
    var said = core.getUtterance();
    requestAnimationFrame(function () {
      requestAnimationFrame(function () {
        ready = true;
        tell('ready', {instruction: typeof said === 'string' ? said : said.utterance});
      });
    });
  }
})();
