/* Lets Material's search run on file://, where browsers forbid workers: a hidden frame replaces
   the worker, and script elements replace importScripts. Material looks for `IFrameWorker`. */
"use strict";
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    #waiting = [];
    #view = null;

    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      frame.srcdoc = "<!doctype html><title>search</title>";
      frame.addEventListener("load", () => this.#start(frame.contentWindow, new URL(address, location.href)), { once: true });
      document.body.append(frame);
    }

    async #start(view, address) {
      const load = (source) => new Promise((resolve, reject) => {
        const script = view.document.createElement("script");
        script.src = source;
        script.onload = resolve;
        script.onerror = () => reject(new Error(`${source} could not be loaded`));
        view.document.body.append(script);
      });
      view.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      view.importScripts = async (...sources) => { for (const source of sources) await load(source); };
      try {
        await load(address.href);
      } catch (error) {
        this.dispatchEvent(new ErrorEvent("error", { message: error.message }));
        return;
      }
      this.#view = view;
      for (const data of this.#waiting.splice(0)) this.postMessage(data);
    }

    postMessage(data) {
      if (this.#view) this.#view.dispatchEvent(new this.#view.MessageEvent("message", { data }));
      else this.#waiting.push(data);
    }

    terminate() { this.#view?.frameElement?.remove(); }
  };
}
