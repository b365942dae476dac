/** Points drawn by the graphics card: tens of thousands, in every frame.
 *
 * Plain WebGL 2, for libraries that make functions of text are forbidden by the page's own security policy. */

import { type Camera, scale, type Size } from "./camera";

/** Bits of a point's mark. */
export const OUTLINED = 1;
export const PICKED = 2;

const VERTEX = `#version 300 es
in vec2 position;
in vec4 colour;
in float mark;
uniform vec2 centre;
uniform vec2 unit;
uniform float size;
uniform bool somePicked;
out vec4 inside;
out float ring;
out float radius;
void main() {
  bool outlined = mod(mark, 2.0) > 0.5;
  bool picked = mark > 1.5;
  inside = colour;
  if (picked) inside.a = 1.0;
  else if (somePicked) inside.a *= 0.22;
  ring = outlined ? 1.0 : 0.0;
  radius = size * (outlined ? 1.4 : 1.0) * (picked ? 1.25 : 1.0);
  gl_Position = vec4((position - centre) * unit, 0.0, 1.0);
  gl_PointSize = radius + 1.0;
}`;
const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 inside;
in float ring;
in float radius;
uniform vec3 ink;
out vec4 result;
void main() {
  float away = length(gl_PointCoord - 0.5) * (radius + 1.0);
  float cover = clamp(radius * 0.5 - away + 0.5, 0.0, 1.0);
  if (cover <= 0.0) discard;
  float rim = ring * clamp(away - radius * 0.5 + max(1.3, radius * 0.16), 0.0, 1.0);
  float alpha = max(inside.a, rim * min(1.0, inside.a * 1.4)) * cover;
  result = vec4(mix(inside.rgb, ink, 0.6 * rim) * alpha, alpha);
}`;

interface Data {
  positions?: Float32Array;
  /** red, green, blue, opacity of each point */
  colours?: Uint8Array;
  marks?: Uint8Array;
  /** points that are drawn, the uppermost last */
  order?: Uint32Array;
}

export class Scatter {
  readonly #canvas: HTMLCanvasElement;
  readonly #gl: WebGL2RenderingContext;
  #program!: WebGLProgram;
  #buffers!: Record<"position" | "colour" | "mark" | "order", WebGLBuffer>;
  #drawn = 0;
  #frame = 0;
  #size: Size = { width: 0, height: 0 };
  #data: Data = {};
  camera: Camera = { x: 0, y: 0, zoom: 1 };
  ink: [number, number, number] = [0, 0, 0];
  somePicked = false;

  /** Throws where the browser cannot draw this way. */
  constructor(canvas: HTMLCanvasElement) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: true, premultipliedAlpha: true });
    if (!gl) throw new Error("This browser does not offer WebGL 2, which the map is drawn with.");
    this.#canvas = canvas;
    this.#gl = gl;
    this.#prepare();
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.#prepare();
      this.set(this.#data);
    });
  }

  /** New numbers; what is not named stays. */
  set(data: Data): void {
    this.#data = { ...this.#data, ...data };
    const gl = this.#gl;
    const fill = (buffer: WebGLBuffer, values: Float32Array | Uint8Array, name: string, count: number) => {
      const place = gl.getAttribLocation(this.#program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
      gl.enableVertexAttribArray(place);
      const isFloat = values instanceof Float32Array;
      gl.vertexAttribPointer(place, count, isFloat ? gl.FLOAT : gl.UNSIGNED_BYTE, name === "colour", 0, 0);
    };
    if (data.positions) fill(this.#buffers.position, data.positions, "position", 2);
    if (data.colours) fill(this.#buffers.colour, data.colours, "colour", 4);
    if (data.marks) fill(this.#buffers.mark, data.marks, "mark", 1);
    if (data.order) {
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.#buffers.order);
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, data.order, gl.DYNAMIC_DRAW);
      this.#drawn = data.order.length;
    }
    this.draw();
  }

  resize(size: Size): void {
    this.#size = size;
    const ratio = window.devicePixelRatio || 1;
    this.#canvas.width = Math.round(size.width * ratio);
    this.#canvas.height = Math.round(size.height * ratio);
    this.#paint(); // at once: a resized canvas is empty, which would flicker
  }

  /** Draws in the next frame, once however often it is asked. */
  draw(): void {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#paint();
    });
  }

  destroy(): void {
    cancelAnimationFrame(this.#frame);
    this.#gl.getExtension("WEBGL_lose_context")?.loseContext();
  }

  #paint(): void {
    const gl = this.#gl;
    const { positions, colours, marks } = this.#data;
    const { width, height } = this.#size;
    if (!width || !height || gl.isContextLost()) return;
    gl.viewport(0, 0, this.#canvas.width, this.#canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    // All must hold the same items: between two answers of the server they may not.
    const items = (positions?.length ?? 0) / 2;
    if (!items || colours?.length !== 4 * items || marks?.length !== items || !this.#drawn) return;
    const unit = scale(this.camera, this.#size);
    const at = (name: string) => gl.getUniformLocation(this.#program, name);
    gl.uniform2f(at("centre"), this.camera.x, this.camera.y);
    gl.uniform2f(at("unit"), (2 * unit) / width, (2 * unit) / height);
    gl.uniform1f(at("size"), this.pointSize() * (window.devicePixelRatio || 1));
    gl.uniform1i(at("somePicked"), this.somePicked ? 1 : 0);
    gl.uniform3f(at("ink"), ...this.ink);
    gl.drawElements(gl.POINTS, this.#drawn, gl.UNSIGNED_INT, 0);
  }

  /** Diameter of a point in CSS pixels: smaller where there are many, larger when one comes nearer. */
  pointSize(): number {
    const { width, height } = this.#size;
    const room = Math.sqrt((width * height) / Math.max(this.#drawn, 1));
    return Math.min(16, Math.max(2.2, Math.min(8, room * 0.38)) * this.camera.zoom ** 0.35);
  }

  #prepare(): void {
    const gl = this.#gl;
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]] as const) {
      const shader = gl.createShader(kind)!;
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
      throw new Error(`The map cannot be drawn: ${gl.getProgramInfoLog(program)}`);
    }
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.#program = program;
    this.#buffers = {
      position: gl.createBuffer(), colour: gl.createBuffer(), mark: gl.createBuffer(), order: gl.createBuffer(),
    };
  }
}
