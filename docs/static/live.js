// Two pictures of the model that answer while one plays with them: the whole problem on some points,
// solved by accelerated projected gradient with its certificate, and one row of it on the simplex.
"use strict";
(() => {
  const COLOURS = ["#2e6fb7", "#c4572b", "#3c8f55"];
  const NAMES = ["blue", "red", "green"];

  function generator(seed) {
    // mulberry32: the same points for everybody
    return () => {
      seed = (seed + 0x6d2b79f5) | 0;
      let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }

  function project(v) {
    // the nearest point whose entries are >= 0 and sum to one
    const falling = [...v].sort((a, b) => b - a);
    let sum = 0, threshold = 0;
    falling.forEach((value, i) => {
      sum += value;
      if (value > (sum - 1) / (i + 1)) threshold = (sum - 1) / (i + 1);
    });
    return v.map((value) => Math.max(value - threshold, 0));
  }

  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const ink = () => style("--pst-color-text-base") || "#222";
  const faint = () => style("--pst-color-border") || "#ccc";

  function prepare(canvas) {
    // sharp on every screen; returns the context and the size in the picture's own units
    const width = canvas.clientWidth, height = canvas.clientHeight, ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return [context, width, height];
  }

  // ---- the whole problem -------------------------------------------------------------------------

  class Graph {
    constructor(count, neighbours) {
      const random = generator(7), normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(6.283 * random());
      this.points = Array.from({ length: count }, (_, n) => {
        const angle = Math.PI * random(), kind = n % 3;
        if (kind === 0) return [0.32 + 0.2 * Math.cos(angle) + 0.022 * normal(), 0.5 - 0.36 * Math.sin(angle) + 0.03 * normal()];
        if (kind === 1) return [0.53 - 0.2 * Math.cos(angle) + 0.022 * normal(), 0.46 + 0.36 * Math.sin(angle) + 0.03 * normal()];
        return [0.86 + 0.045 * normal(), 0.45 + 0.13 * normal()];
      });
      const square = (a, b) => (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2;
      const near = this.points.map((p) =>
        this.points.map((q, m) => [square(p, q), m]).sort((a, b) => a[0] - b[0]).slice(1, neighbours + 1));
      const scale = near.map((list) => Math.sqrt(list[list.length - 1][0]));
      this.edges = this.points.map(() => new Map());
      near.forEach((list, n) => list.forEach(([d, m]) => {
        const weight = Math.exp(-d / (scale[n] * scale[m]));
        this.edges[n].set(m, weight);
        this.edges[m].set(n, weight);
      }));
      this.degree = this.edges.map((row) => [...row.values()].reduce((a, b) => a + b, 0));
    }
  }

  class Solver {
    constructor(graph) {
      this.graph = graph;
      this.G = graph.points.map(() => [0, 0, 0]);
      this.Z = graph.points.map(() => [1 / 3, 1 / 3, 1 / 3]);
      this.restart();
    }
    restart() {
      this.Y = this.Z.map((row) => [...row]);
      this.momentum = 1;
      this.iterations = 0;
    }
    gradient(Z, lam) {
      return Z.map((z, n) => {
        const around = [0, 0, 0];
        this.graph.edges[n].forEach((weight, m) => { for (let k = 0; k < 3; k++) around[k] += weight * Z[m][k]; });
        return z.map((value, k) => 2 * lam * (this.graph.degree[n] * value - around[k]) - this.G[n][k]);
      });
    }
    step(lam) {
      const slope = this.gradient(this.Y, lam), next = (1 + Math.sqrt(1 + 4 * this.momentum ** 2)) / 2;
      const weight = (this.momentum - 1) / next;
      let uphill = 0;
      this.Z.forEach((old, n) => {
        const size = 4 * lam * this.graph.degree[n], y = this.Y[n];
        const z = project(y.map((value, k) => value - slope[n][k] / size));
        for (let k = 0; k < 3; k++) uphill += size * (y[k] - z[k]) * (z[k] - old[k]);
        this.Y[n] = z.map((value, k) => value + weight * (value - old[k]));
        this.Z[n] = z;
      });
      this.momentum = uphill > 0 ? 1 : next;
      this.iterations += 1;
    }
    certificate(lam) {
      // objective, and how far it can be from the best at most, as a share of the stake
      let gap = 0, stake = 0, objective = 0;
      this.gradient(this.Z, lam).forEach((slope, n) => {
        const z = this.Z[n], least = Math.min(...slope), g = this.G[n];
        z.forEach((value, k) => {
          gap += value * (slope[k] - least);
          objective += value * (slope[k] + g[k]) / 2 - value * g[k];
        });
        stake += Math.max(...g) - Math.min(...g);
      });
      return { objective, share: stake ? gap / stake : 0, stake };
    }
  }

  function whole(root) {
    const canvas = root.querySelector("canvas"), slider = root.querySelector("input[type=range]");
    const output = root.querySelector("output"), choice = root.querySelector("select");
    const graph = new Graph(210, 7), solver = new Solver(graph);
    [[0, 0], [1, 1], [2, 2]].forEach(([n, k]) => { solver.G[n][k] = 1; });
    const lam = () => 10 ** slider.value;
    const place = ([x, y], width, height) => [20 + x * (width - 40), 20 + y * (height - 40)];
    let running = false;

    function draw() {
      const [context, width, height] = prepare(canvas);
      context.strokeStyle = faint();
      graph.edges.forEach((row, n) => row.forEach((weight, m) => {
        if (m < n) return;
        context.globalAlpha = 0.25 + 0.75 * weight;
        context.beginPath();
        context.moveTo(...place(graph.points[n], width, height));
        context.lineTo(...place(graph.points[m], width, height));
        context.stroke();
      }));
      context.globalAlpha = 1;
      const unlabelled = (n) => solver.G[n].every((value) => value === 0);
      const order = solver.Z.map((_, n) => n).sort((a, b) => unlabelled(b) - unlabelled(a));
      order.forEach((n) => {
        const z = solver.Z[n], [x, y] = place(graph.points[n], width, height), g = solver.G[n];
        const labelled = !unlabelled(n), radius = labelled ? 9 : 5;
        let angle = -Math.PI / 2;
        z.forEach((share, k) => {
          if (share < 1e-3) return;
          context.fillStyle = COLOURS[k];
          context.beginPath();
          context.moveTo(x, y);
          context.arc(x, y, radius, angle, angle + 2 * Math.PI * share);
          context.fill();
          angle += 2 * Math.PI * share;
        });
        if (!labelled) return;
        const k = g.findIndex((value) => value !== 0);
        context.lineWidth = 3;
        context.strokeStyle = COLOURS[k];
        context.beginPath();
        context.arc(x, y, radius + 3, 0, 7);
        context.stroke();
        context.lineWidth = 1;
        context.fillStyle = ink();
        context.font = "bold 15px sans-serif";
        context.fillText(g[k] > 0 ? "+" : "−", x + radius + 5, y - radius + 3);
      });
      const { objective, share, stake } = solver.certificate(lam());
      output.textContent = stake
        ? `λ = ${lam().toPrecision(2)}: objective ${objective.toFixed(4)}, at most ${(100 * share).toPrecision(2)} % ` +
          `of the stake above the optimum, after ${solver.iterations} iterations`
        : "No labels: every assignment that is the same everywhere is as good as any other.";
    }

    function run() {
      // a few iterations a picture, so that one sees them
      running = true;
      for (let i = 0; i < 3; i++) solver.step(lam());
      draw();
      if (solver.certificate(lam()).share > 1e-5 && solver.iterations < 5000) requestAnimationFrame(run);
      else running = false;
    }
    function again() {
      solver.restart();
      if (!running) requestAnimationFrame(run);
    }
    slider.addEventListener("input", again);
    root.querySelector("button").addEventListener("click", () => {
      solver.G.forEach((row) => row.fill(0));
      again();
    });
    canvas.addEventListener("click", (event) => {
      const box = canvas.getBoundingClientRect(), at = [event.clientX - box.left, event.clientY - box.top];
      const away = graph.points.map((point) => {
        const [x, y] = place(point, canvas.clientWidth, canvas.clientHeight);
        return Math.hypot(x - at[0], y - at[1]);
      });
      const n = away.indexOf(Math.min(...away));
      if (away[n] > 25) return;
      const [sign, k] = choice.value.split(" ").map(Number), same = solver.G[n][k] === sign;
      solver.G[n].fill(0);
      if (!same) solver.G[n][k] = sign;
      again();
    });
    window.addEventListener("resize", draw);
    again();
  }

  // ---- one row -----------------------------------------------------------------------------------

  function row(root) {
    const canvas = root.querySelector("canvas"), output = root.querySelector("output");
    const [slider, ...affinities] = root.querySelectorAll("input[type=range]");
    let crowd = [0.15, 0.6, 0.25];

    function corners(width, height) {
      const size = Math.min((width - 120) / 1.1, (height - 70) / 0.9), middle = width / 2, top = 30;
      return [[middle, top], [middle - size / 2, top + size * 0.866], [middle + size / 2, top + size * 0.866]];
    }
    const at = (z, c) => [0, 1].map((i) => z[0] * c[0][i] + z[1] * c[1][i] + z[2] * c[2][i]);
    function shares([x, y], c) {
      // barycentric coordinates
      const [[x0, y0], [x1, y1], [x2, y2]] = c, whole = (y1 - y2) * (x0 - x2) + (x2 - x1) * (y0 - y2);
      const a = ((y1 - y2) * (x - x2) + (x2 - x1) * (y - y2)) / whole;
      const b = ((y2 - y0) * (x - x2) + (x0 - x2) * (y - y2)) / whole;
      return [a, b, 1 - a - b];
    }

    function draw() {
      const [context, width, height] = prepare(canvas), c = corners(width, height);
      const lam = 10 ** slider.value, g = affinities.map((input) => Number(input.value));
      context.strokeStyle = faint();
      context.lineWidth = 2;
      context.beginPath();
      c.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
      context.closePath();
      context.stroke();
      context.font = "14px sans-serif";
      context.textAlign = "center";
      c.forEach(([x, y], k) => {
        context.fillStyle = COLOURS[k];
        context.fillText(NAMES[k], x, k ? y + 20 : y - 10);
      });
      const place = (strength) => project(crowd.map((value, k) => value + g[k] / (2 * strength)));
      context.strokeStyle = ink();
      context.beginPath();
      for (let e = -2; e <= 2.001; e += 0.01) {
        const [x, y] = at(place(10 ** e), c);
        if (e === -2) context.moveTo(x, y);
        else context.lineTo(x, y);
      }
      context.stroke();
      const z = place(lam), [zx, zy] = at(z, c), [bx, by] = at(crowd, c);
      context.fillStyle = faint();
      context.strokeStyle = ink();
      context.beginPath();
      context.arc(bx, by, 9, 0, 7);
      context.fill();
      context.stroke();
      context.fillStyle = ink();
      context.fillText("crowd", bx, by - 14);
      context.beginPath();
      context.arc(zx, zy, 6, 0, 7);
      context.fill();
      context.fillText("z", zx + 14, zy + 5);
      const list = z.map((value, k) => `${NAMES[k]} ${(100 * value).toFixed(0)} %`).join(", ");
      output.textContent = `λ d = ${lam.toPrecision(2)}: ${list}`;
    }
    function move(event) {
      const box = canvas.getBoundingClientRect();
      const wanted = [event.clientX - box.left, event.clientY - box.top];
      crowd = project(shares(wanted, corners(canvas.clientWidth, canvas.clientHeight)));
      draw();
    }
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); move(event); });
    canvas.addEventListener("pointermove", (event) => { if (event.buttons) move(event); });
    [slider, ...affinities].forEach((input) => input.addEventListener("input", draw));
    window.addEventListener("resize", draw);
    draw();
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll(".live-whole").forEach(whole);
    document.querySelectorAll(".live-row").forEach(row);
  });
})();
