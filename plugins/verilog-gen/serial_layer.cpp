// A layer of a serial network as a module: counters give the addresses of one element and one weight in each
// cycle; the sum of an output is rounded as float32 rounds it in the engine, and written.
#include <algorithm>
#include <bit>

#include "serial.hpp"

namespace anybit::verilog {
namespace {

int signed_bits(std::int64_t magnitude) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(magnitude))) + 1;
}

std::string literal(int bits, std::int64_t value) {
  return value < 0 ? fmt::format("-{}'sd{}", bits, -value) : fmt::format("{}'sd{}", bits, value);
}

// A constant memory of signed numbers; returns the bits of one.
int write_memory(Text& out, const std::string& name, const std::vector<std::int64_t>& numbers) {
  std::int64_t most = 1;
  for (const std::int64_t one : numbers) most = std::max(most, std::abs(one));
  const int bits = signed_bits(most);
  out.line("reg signed {} {} [0:{}];", range(bits), name, numbers.size() - 1);
  out.line("initial begin");
  out.deeper();
  for (std::size_t i = 0; i < numbers.size(); ++i)
    out.line("{}[{}] = {};", name, i, literal(bits, numbers[i]));
  out.back();
  out.line("end");
  return bits;
}

class LayerWriter {
 public:
  LayerWriter(Text& out, const SerialLayer& layer, const std::vector<Bus>& buses)
      : out_(out), layer_(layer), window_(layer.window), buses_(buses) {
    std::int64_t most = std::max(layer.most, std::int64_t{1} << buses[0].bits);
    if (layer.kind == SerialKind::addition) {
      shift_ = std::max(layer.multipliers[0].shift, layer.multipliers[1].shift);
      most = 0;
      for (std::size_t i = 0; i < 2; ++i) most += factor_of(i) << (buses[i].bits + 1);
      if (most >= kExact)
        throw Refusal(fmt::format("verilog-gen: the addition '{}' has scales that are too far apart",
                                  in_comment(layer.name)));
    }
    if (most >= std::int64_t{1} << 40)
      throw Refusal(
          fmt::format("verilog-gen: the sums of '{}' have more than 40 bits", in_comment(layer.name)));
    sum_bits_ = signed_bits(most);
    rounds_sum_ = most >= kExact;
  }

  void write(const std::string& name) {
    open(name);
    if (layer_.kind == SerialKind::addition) {
      count_elements();
    } else {
      count_taps();
    }
    first_stage();
    second_stage();
    out_.back();
    out_.line("endmodule");
    out_.line("");
  }

 private:
  static constexpr std::int64_t kExact = std::int64_t{1} << 24;  // float32 has every integer below

  std::int64_t factor_of(std::size_t input) const {
    const Multiplier& one = layer_.multipliers[input];
    const int up = shift_ - one.shift;
    if (up > 16)
      throw Refusal(fmt::format("verilog-gen: the addition '{}' has scales that are too far apart",
                                in_comment(layer_.name)));
    return one.mantissa << up;
  }

  void open(const std::string& name) {
    out_.line("// {}", in_comment(layer_.name));
    out_.line("module {} (", name);
    out_.deeper();
    out_.line("input wire clk, input wire reset, input wire start, output reg running, output reg done,");
    for (std::size_t i = 0; i < layer_.inputs.size(); ++i)
      out_.line("output wire {} {}_address, input wire {} {}_data,", range(bits_of(buses_[i].count)), "ab"[i],
                range(buses_[i].bits), "ab"[i]);
    out_.line("input wire {} read_address, output reg {} read_data,", range(bits_of(layer_.result.count)),
              range(layer_.result.bits));
    out_.line("output reg write, output reg {} write_address, output reg {} write_data",
              range(bits_of(layer_.result.count)), range(layer_.result.bits));
    out_.back();
    out_.line(");");
    out_.deeper();
    out_.line("reg {} memory [0:{}];", range(layer_.result.bits), layer_.result.count - 1);
    out_.line("always @(posedge clk) begin");
    out_.line("  read_data <= memory[read_address];");
    out_.line("  if (write) memory[write_address] <= write_data;");
    out_.line("end");
    out_.line("reg one, one_end, two, two_end;");
    out_.line("reg {} target, one_target, two_target;", range(bits_of(layer_.result.count)));
  }

  // An addition: one element in each cycle.
  void count_elements() {
    out_.line("assign a_address = target, b_address = target;");
    out_.line("wire last = 1'b1, in_image = 1'b1;");
    out_.line("wire finish = target == {};", layer_.result.count - 1);
    out_.line("always @(posedge clk) begin");
    out_.deeper();
    out_.line("if (reset) running <= 0;");
    out_.line("else if (start) begin running <= 1; target <= 0; end");
    out_.line("else if (running) begin target <= target + 1'b1; if (finish) running <= 0; end");
    out_.back();
    out_.line("end");
  }

  struct Counter {
    const char* name;
    std::int64_t count;
  };

  std::vector<Counter> counters() const {  // the fastest first
    return {{"kx", window_.kernel[1]}, {"ky", window_.kernel[0]},  {"ic", window_.taken},
            {"ox", window_.out_width}, {"oy", window_.out_height}, {"oc", window_.out_channels}};
  }

  void count_taps() {
    std::int64_t largest = 16;
    for (const std::int64_t one :
         {window_.out_height * window_.stride[0] + window_.kernel[0] * window_.dilation[0] + window_.pad[0],
          window_.out_width * window_.stride[1] + window_.kernel[1] * window_.dilation[1] + window_.pad[1],
          window_.height, window_.width, window_.channels * window_.height * window_.width})
      largest = std::max(largest, one);
    const int bits = signed_bits(largest) + 1;
    for (const Counter& one : counters()) out_.line("reg {} {};", range(bits_of(one.count)), one.name);
    const auto number = [&](std::int64_t value) { return literal(bits, value); };
    const auto place = [&](const char* name, const char* out, const char* kernel, int axis) {
      out_.line("wire signed {} {} = $signed({{1'b0, {}}}) * {} + $signed({{1'b0, {}}}) * {} - {};",
                range(bits), name, out, number(window_.stride[axis]), kernel, number(window_.dilation[axis]),
                number(window_.pad[axis]));
    };
    place("iy", "oy", "ky", 0);
    place("ix", "ox", "kx", 1);
    out_.line("wire in_image = iy >= 0 && iy < {} && ix >= 0 && ix < {};", number(window_.height),
              number(window_.width));
    const std::int64_t groups = window_.own ? window_.channels / window_.taken : 1,
                       each = window_.out_channels / groups;
    if (window_.own) {
      out_.line("wire signed {} group = $signed({{1'b0, oc}}){};", range(bits),
                each == 1 ? "" : fmt::format(" / {}", number(each)));
      out_.line("wire signed {} channel = group * {} + $signed({{1'b0, ic}});", range(bits),
                number(window_.taken));
    } else {
      out_.line("wire signed {} channel = $signed({{1'b0, ic}});", range(bits));
    }
    out_.line("wire signed {} address = (channel * {} + iy) * {} + ix;", range(bits), number(window_.height),
              number(window_.width));
    out_.line("assign a_address = in_image ? address{} : {}'d0;", range(bits_of(buses_[0].count)),
              bits_of(buses_[0].count));
    out_.line("wire first = kx == 0 && ky == 0 && ic == 0;");
    out_.line("wire last = kx == {} && ky == {} && ic == {};", window_.kernel[1] - 1, window_.kernel[0] - 1,
              window_.taken - 1);
    out_.line("wire finish = last && ox == {} && oy == {} && oc == {};", window_.out_width - 1,
              window_.out_height - 1, window_.out_channels - 1);
    if (has_weights()) count_weights();
    out_.line("always @(posedge clk) begin");
    out_.deeper();
    out_.line("if (reset) running <= 0;");
    out_.line("else if (start) begin");
    out_.line("  running <= 1; target <= 0; kx <= 0; ky <= 0; ic <= 0; ox <= 0; oy <= 0; oc <= 0;");
    out_.line("end else if (running) begin");
    out_.deeper();
    out_.line("if (last) target <= target + 1'b1;");
    out_.line("if (finish) running <= 0;");
    std::string condition;
    for (const Counter& one : counters()) {
      const std::string step = fmt::format("{0} <= {0} == {1} ? {2}'d0 : {0} + 1'b1;", one.name,
                                           one.count - 1, bits_of(one.count));
      out_.line("{}{}", condition.empty() ? "" : fmt::format("if ({}) ", condition), step);
      condition += fmt::format("{}{} == {}", condition.empty() ? "" : " && ", one.name, one.count - 1);
    }
    out_.back();
    out_.line("end");
    out_.back();
    out_.line("end");
  }

  bool has_weights() const { return layer_.kind == SerialKind::products; }

  // The weights of an output channel are read once for each position.
  void count_weights() {
    const auto count = static_cast<std::int64_t>(layer_.weights.size());
    const int bits = bits_of(count);
    weight_bits_ = write_memory(out_, "weights", layer_.weights);
    out_.line("reg {} weight_address, weight_base;", range(bits));
    out_.line("reg signed {} weight;", range(weight_bits_));
    out_.line("wire channel_done = last && ox == {} && oy == {};", window_.out_width - 1,
              window_.out_height - 1);
    out_.line("always @(posedge clk) begin");
    out_.deeper();
    out_.line("weight <= weights[weight_address];");
    out_.line("if (start) begin weight_address <= 0; weight_base <= 0; end");
    out_.line("else if (running) begin");
    out_.line(
        "  if (channel_done) begin weight_base <= weight_address + 1'b1; weight_address <= weight_address + "
        "1'b1; end");
    out_.line("  else if (last) weight_address <= weight_base;");
    out_.line("  else weight_address <= weight_address + 1'b1;");
    out_.line("end");
    out_.back();
    out_.line("end");
  }

  // The data of input `i` without its zero point, 0 in the padding.
  void write_value(std::size_t i, const char* name) {
    const Bus& bus = buses_[i];
    const std::int64_t zero = layer_.kind == SerialKind::largest ? 0 : layer_.zeros[i];
    const int bits = bus.bits + 2;
    const std::string data = fmt::format("{}_data", "ab"[i]);
    out_.line("wire signed {} {} = one_inside ? $signed({{{{2{{{}}}}}, {}}}) - {} : {};", range(bits), name,
              bus.is_signed ? fmt::format("{}[{}]", data, bus.bits - 1) : "1'b0", data, literal(bits, zero),
              literal(bits, 0));
  }

  void first_stage() {
    const std::string channel = range(bits_of(window_.out_channels));
    const bool taps = layer_.kind != SerialKind::addition;
    out_.line("reg one_inside, one_last{};", taps ? ", one_first" : "");
    if (taps) out_.line("reg {} one_channel, two_channel;", channel);
    out_.line("reg signed {} sum, two_sum;", range(sum_bits_));
    write_value(0, "a");
    if (!taps) write_value(1, "b");
    const std::string sum = range(sum_bits_);
    if (layer_.kind == SerialKind::products) {
      write_memory(out_, "biases", layer_.biases);
      out_.line("wire signed {} previous = one_first ? biases[one_channel] : sum;", sum);
      out_.line("wire signed {} total = previous + a * weight;", sum);
    } else if (layer_.kind == SerialKind::sum) {
      out_.line("wire signed {} previous = one_first ? {} : sum;", sum, literal(sum_bits_, 0));
      out_.line("wire signed {} total = previous + a;", sum);
    } else if (layer_.kind == SerialKind::largest) {
      const std::int64_t lowest = buses_[0].is_signed ? -(std::int64_t{1} << (buses_[0].bits - 1)) : 0;
      out_.line("wire signed {} previous = one_first ? {} : sum;", sum, literal(sum_bits_, lowest));
      out_.line("wire signed {} total = one_inside && a > previous ? a : previous;", sum);
    } else {
      out_.line("wire signed {} total = a * {} + b * {};", sum, literal(sum_bits_, factor_of(0)),
                literal(sum_bits_, factor_of(1)));
    }
    out_.line("always @(posedge clk) begin");
    out_.deeper();
    out_.line(
        "one <= running && !reset; one_end <= finish; one_last <= last; one_inside <= in_image; one_target "
        "<= "
        "target;");
    if (taps) out_.line("one_first <= first; one_channel <= oc; two_channel <= one_channel;");
    out_.line("if (one) sum <= total;");
    out_.line(
        "two <= one && one_last && !reset; two_end <= one_end; two_sum <= total; two_target <= one_target;");
    out_.back();
    out_.line("end");
  }

  void second_stage() {
    if (layer_.kind == SerialKind::largest) {
      out_.line("wire signed {} result = two_sum;", range(sum_bits_));
      wide_bits_ = sum_bits_;
    } else {
      requantize();
    }
    out_.line("always @(posedge clk) begin");
    out_.deeper();
    out_.line("write <= two && !reset; write_address <= two_target; done <= two && two_end && !reset;");
    out_.line("write_data <= result < {0} ? {2}'d{1} : result > {3} ? {2}'d{4} : result{5};",
              literal(wide_bits_, layer_.low), bits_in(layer_.low), layer_.result.bits,
              literal(wide_bits_, layer_.high), bits_in(layer_.high), range(layer_.result.bits));
    out_.back();
    out_.line("end");
  }

  // Two's complement in the bits of the result.
  std::uint64_t bits_in(std::int64_t value) const {
    return static_cast<std::uint64_t>(value) & ((std::uint64_t{1} << layer_.result.bits) - 1);
  }

  // round(float32(sum) · m) + zero point, where m is a float32: float32 rounds the sum and the product.
  void requantize() {
    std::vector<std::int64_t> mantissas, shifts;
    bool exact = true, same = true;
    if (layer_.kind == SerialKind::addition) {
      mantissas = {1};
      shifts = {shift_};
    } else {
      for (const Multiplier& one : layer_.multipliers) {
        mantissas.push_back(one.mantissa);
        shifts.push_back(one.shift);
        exact = exact && one.power_of_two();
        same = same && one.mantissa == mantissas[0] && one.shift == shifts[0];
      }
    }
    const int mantissa_bits = signed_bits(*std::ranges::max_element(mantissas)) - 1;
    const int bits = sum_bits_ + mantissa_bits + 1;
    const std::string wide = range(bits);
    write_rounding(bits, !exact || rounds_sum_);
    std::string mantissa = fmt::format("{}'d{}", mantissa_bits, mantissas[0]),
                shift = fmt::format("9'd{}", shifts[0]);
    if (!same) {
      write_memory(out_, "mantissas", mantissas);
      write_memory(out_, "shifts", shifts);
      out_.line("wire {} mantissa = mantissas[two_channel];", range(mantissa_bits));
      out_.line("wire [8:0] shift = shifts[two_channel];");
      mantissa = "mantissa";
      shift = "shift";
    }
    out_.line("wire negative = two_sum[{}];", sum_bits_ - 1);
    out_.line("wire {} magnitude = negative ? -two_sum : two_sum;", range(sum_bits_));
    out_.line("wire {} rounded = {};", wide, rounds_sum_ ? "to_float32(magnitude)" : "magnitude");
    out_.line("wire {} scaled = rounded * {};", wide, mantissa);
    out_.line("wire {} steps = half_even({}, {});", wide, exact ? "scaled" : "to_float32(scaled)", shift);
    wide_bits_ = std::max(bits, layer_.result.bits) + 2;
    out_.line(
        "wire signed {} result = (negative ? -$signed({{2'b0, steps}}) : $signed({{2'b0, steps}})) + {};",
        range(wide_bits_), literal(wide_bits_, layer_.zero));
  }

  void write_rounding(int bits, bool to_float) {
    const std::string wide = range(bits);
    out_.line("function {} half_even(input {} p, input [8:0] k);", wide, wide);
    out_.line("  reg {} q, rest, half;", wide);
    out_.line("  begin");
    out_.line("    q = p >> k;");
    out_.line("    rest = p - (q << k);");
    out_.line("    half = k == 0 ? {0}'d0 : {0}'d1 << (k - 1'b1);", bits);
    out_.line(
        "    half_even = k == 0 ? p : k > {0} ? {0}'d0 : q + (rest > half || rest == half && q[0] ? {0}'d1 : "
        "{0}'d0);",
        bits);
    out_.line("  end");
    out_.line("endfunction");
    if (!to_float) return;
    out_.line("function {} to_float32(input {} p);", wide, wide);
    out_.line("  integer i;");
    out_.line("  reg [8:0] drop;");
    out_.line("  begin");
    out_.line("    drop = 0;");
    out_.line("    for (i = 24; i < {}; i = i + 1) if (p[i]) drop = i - 23;", bits);
    out_.line("    to_float32 = half_even(p, drop) << drop;");
    out_.line("  end");
    out_.line("endfunction");
  }

  Text& out_;
  const SerialLayer& layer_;
  const Window& window_;
  const std::vector<Bus>& buses_;
  int sum_bits_ = 0, weight_bits_ = 0, wide_bits_ = 0, shift_ = 0;
  bool rounds_sum_ = false;  // sums may be beyond what float32 holds exactly
};

}  // namespace

int bits_of(std::int64_t count) {
  return std::max(
      1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(count, 1) - 1))));
}

void write_serial_layer(Text& out, const std::string& name, const SerialLayer& layer,
                        const std::vector<Bus>& buses) {
  LayerWriter(out, layer, buses).write(name);
}

}  // namespace anybit::verilog
